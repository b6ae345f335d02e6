/* html/palette.js - the colour of a module by what it does.
 *
 * The first line that fits its class, or its name if the class says nothing
 * ("Kernel"). */

const KINDS = [
  {
    key: "picture",
    label: "pictures in and out",
    fits: /decode|encode|jpeg|preprocess|postprocess|transform|to_tensor|paste|draw/i
  },
  {
    key: "detection",
    label: "boxes and masks",
    fits: /roi|nms|anchor|proposal|detect|rpn_?(decode|top)|top_?k|box|mask|filter/i
  },
  {key: "convolution", label: "convolution", fits: /conv|winograd/i},
  {key: "attention", label: "attention", fits: /attention|softmax|bmm/i},
  {key: "linear", label: "matrix product", fits: /linear|gemm|matmul|::(add)?mm$|dense|^fc\d*$/i},
  {key: "norm", label: "normalisation", fits: /norm|^bn\d*$|(^|[^a-z])bn_/i},
  {
    key: "activation",
    label: "activation and addition",
    fits: /relu|gelu|silu|swish|sigmoid|tanh|activation|elementwise|(^|::)(add|mul)_?$/i
  },
  {
    key: "pooling",
    label: "pooling and resampling",
    fits: /pool|upsample|interpolate|resize(?!_$)/i
  },
  {
    key: "copy",
    label: "copying",
    fits: /copy|memcpy|memset|concat|^cat$|flatten|reshape|permute|contiguous/i
  },
];
const OTHER = {
  key: "other",
  label: "other"
};
const GROUP = {
  key: "group",
  label: "modules around others"
};

function kindOfText(text) {
  return text ? KINDS.find(kind => kind.fits.test(text)) : undefined;
}

function kindOf(node) {
  if (node.children.length > 0)
    return GROUP;
  return kindOfText(node.class) || kindOfText(node.name) || OTHER;
}

/* In a comparison: how much slower or faster, if that is more than noise. */
function changeKind(node) {
  if (node.mark === "added" || node.mark === "removed")
    return {key: "new", label: node.mark};
  if (node.mark !== "slower" && node.mark !== "faster")
    return {key: "same", label: "no difference beyond noise"};
  const size = Math.abs(Math.log(node.ratio));
  return {key: `${node.mark}-${size > 0.25 ? 3 : size > 0.08 ? 2 : 1}`, label: node.mark};
}

const MARK_WORDS = {
  "=": "within noise",
  "?": "undecided"
};

/* The mark of a module in a comparison, in words. */
function markWord(node) {
  return MARK_WORDS[node.mark] || node.mark;
}

/* The two runs of a comparison. */
function letterOf(side) {
  return side === 0 ? "A" : "B";
}

function sideClass(side) {
  return side === 0 ? "side-a" : "side-b";
}

const colours = {
  known: new Map(),
  /* A colour of the style sheet, for a canvas. */
  get(name) {
    if (!this.known.has(name))
      this.known.set(
          name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
    return this.known.get(name);
  },
  forget() {
    this.known.clear();
  },
};
