#!/usr/bin/env python3
"""Writes the small Keras models of this folder and their outputs in Keras.

Run by hand, once with Keras 2 and once with Keras 3 (README.md says which):

    python make_models.py k2 .
    python make_models.py k3 .

NAME.io holds the inputs and then the outputs as float32, one after another.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf
from tensorflow import keras

layers = keras.layers


def sequential():
    return keras.Sequential([
        keras.Input((9, 8, 3)),
        layers.Conv2D(5, 3, strides=2, padding="same", activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(2, padding="same"),
        layers.Flatten(),
        layers.Dense(7, activation="tanh"),
        layers.Dropout(0.5),
        layers.Dense(4, activation="softmax"),
    ], name="sequential")


def windows():
    """Every padding rule, even and odd sizes, strides and dilations."""
    x = keras.Input((7, 8, 2))
    parts = []
    for kernel, stride in ((3, 2), (4, 3)):
        y = layers.Conv2D(3, kernel, strides=stride, padding="same",
                          use_bias=stride != 3)(x)
        parts.append(layers.GlobalAveragePooling2D()(y))
        y = layers.DepthwiseConv2D(kernel, strides=stride, padding="same",
                                   depth_multiplier=2)(x)
        parts.append(layers.GlobalMaxPooling2D()(y))
        y = layers.SeparableConv2D(3, kernel, strides=stride,
                                   padding="valid")(x)
        parts.append(layers.Flatten()(y))
        y = layers.AveragePooling2D(kernel, strides=stride,
                                    padding="same")(x)
        parts.append(layers.Flatten()(y))
        y = layers.MaxPooling2D(kernel, strides=stride)(x)
        parts.append(layers.Flatten()(y))
    y = layers.Conv2D(4, (3, 2), dilation_rate=2, padding="same", groups=2)(x)
    parts.append(layers.Flatten()(y))
    for kernel, stride, padding in ((3, 2, "same"), (2, 2, "valid"),
                                    (3, 3, "valid"), (2, 3, "same"),
                                    (4, 2, "same")):
        y = layers.Conv2DTranspose(2, kernel, strides=stride,
                                   padding=padding)(x)
        parts.append(layers.Flatten()(y))
    return keras.Model(x, layers.Concatenate()(parts), name="windows")


def activations():
    x = keras.Input((4, 5, 6))
    parts = [x]
    for name in ("relu", "sigmoid", "tanh", "softmax", "swish", "gelu", "elu",
                 "selu", "hard_sigmoid", "softplus", "softsign",
                 "exponential", "linear"):
        parts.append(layers.Activation(name)(x))
    parts.append(layers.Conv2D(6, 1, activation="softmax")(x))
    parts.append(layers.ReLU()(x))
    parts.append(layers.ReLU(6.0)(x))
    parts.append(layers.ReLU(1.5, negative_slope=0.1)(x))
    parts.append(layers.LeakyReLU()(x))
    parts.append(layers.ELU(0.7)(x))
    parts.append(layers.Softmax()(x))
    parts.append(layers.PReLU(shared_axes=[1, 2])(x))
    parts.append(layers.PReLU()(x))
    return keras.Model(x, layers.Concatenate()(parts), name="activations")


def merges():
    a = keras.Input((6, 4, 3), name="left")
    b = keras.Input((6, 4, 3), name="right")
    c = layers.Conv2D(3, 1, name="stem")(a)
    d = layers.Conv2D(3, 1, name="other")(b)
    y = layers.Add()([c, d, b])
    y = layers.Subtract()([y, a])
    y = layers.Multiply()([y, c])
    y = layers.Average()([y, d, a])
    y = layers.Maximum()([y, c])
    y = layers.Minimum()([y, d])
    y = layers.Concatenate()([y, c, b])
    y = layers.Concatenate(axis=1)([y, y])
    y = layers.Permute((3, 1, 2))(y)
    z = layers.Reshape((9, -1))(y)
    z = layers.Dense(5, name="rows")(z)
    return keras.Model([a, b], [z, layers.Dense(2, name="deep")(y)],
                       name="merges")


def shapes():
    """The layers of EfficientNet and MobileNetV3, and the rest of shapes."""
    x = keras.Input((12, 10, 3))
    y = layers.Rescaling(1.0 / 127.5, offset=-1.0)(x)
    y = layers.Normalization(mean=[0.1, 0.2, 0.3],
                             variance=[1.0, 2.0, 3.0])(y)
    y = layers.ZeroPadding2D(((0, 1), (1, 2)))(y)
    y = layers.Conv2D(8, 3, strides=2, use_bias=False)(y)
    y = layers.BatchNormalization(scale=False, center=False, epsilon=1e-2)(y)
    y = layers.Activation("swish")(y)
    squeeze = layers.GlobalAveragePooling2D(keepdims=True)(y)
    squeeze = layers.Conv2D(2, 1, activation="relu")(squeeze)
    squeeze = layers.Conv2D(8, 1, activation="sigmoid")(squeeze)
    y = layers.Multiply()([y, squeeze])
    pooled = layers.GlobalAveragePooling2D()(y)
    pooled = layers.Reshape((1, 1, 8))(pooled)
    y = layers.Add()([y, pooled])
    y = layers.UpSampling2D((2, 3))(y)
    y = layers.UpSampling2D(2, interpolation="bilinear")(y)
    y = layers.Cropping2D(((1, 2), (3, 0)))(y)
    y = layers.SpatialDropout2D(0.1)(y)
    y = layers.GaussianNoise(0.1)(y)
    y = layers.LayerNormalization()(y)
    y = layers.Activation("hard_sigmoid")(y)
    y = layers.Activation("hard_silu")(y)
    y = layers.Activation("leaky_relu")(y)
    return keras.Model(x, y, name="shapes")


def small_vgg19(channels):
    """VGG19 without its top, layer by layer, with few channels."""
    x = y = keras.Input((32, 32, 3))
    for block, (count, n) in enumerate(zip((2, 2, 4, 4, 4), channels), 1):
        for i in range(1, count + 1):
            y = layers.Conv2D(n, 3, activation="relu", padding="same",
                              name=f"block{block}_conv{i}")(y)
        y = layers.MaxPooling2D(2, strides=2, name=f"block{block}_pool")(y)
    return keras.Model(x, y, name="vgg19")


def transfer():
    x = keras.Input((32, 32, 3))
    y = x / 127.5
    y = y - 1.0
    base = small_vgg19((2, 3, 4, 4, 6))
    base.trainable = False
    y = base(y, training=False)
    y = layers.GlobalAveragePooling2D()(y)
    y = layers.Dropout(0.2)(y)
    return keras.Model(x, layers.Dense(100)(y), name="transfer")


def caffe_style():
    """What preprocess_input of VGG and ResNet adds to a model: reversed
    channels minus their means; and a nested Sequential that is called
    twice."""
    x = keras.Input((8, 8, 3))
    y = x[..., ::-1]
    y = y - np.array([103.939, 116.779, 123.68], dtype="float32")
    y = tf.nn.relu6(y) if tf.__version__ < "2.16" else keras.ops.relu6(y)
    twin = keras.Sequential([
        keras.Input((8, 8, 3)),
        layers.Conv2D(3, 3, padding="same", name="conv"),
        layers.LeakyReLU(),
    ], name="twin")
    y = 1.0 - twin(twin(y)) * 0.5
    return keras.Model(x, y, name="caffe_style")


# Few files cover each layer and each format. Keras 2 cannot write the slice of
# caffe_style into a .keras file.
SAVED = {
    "k2": {sequential: ("h5", "keras"), windows: ("h5",),
           activations: ("h5",), transfer: ("h5",), caffe_style: ("h5",)},
    "k3": {merges: ("h5",), shapes: ("h5",), transfer: ("keras",),
           caffe_style: ("keras",)},
}


def fill(model, random):
    """Weights that are not all near zero, so that mistakes show."""
    weights = []
    for variable in model.weights:
        shape = tuple(variable.shape)
        name = getattr(variable, "path", variable.name)
        w = random.normal(0, 0.5, shape)
        if "variance" in name:
            w = random.uniform(0.5, 2, shape)
        elif len(shape) > 1:
            w *= 2 / np.sqrt(max(1, np.prod(shape[:-1])))
        if "count" in name:
            w = np.zeros(shape)
        weights.append(w.astype("float32"))
    model.set_weights(weights)


def main():
    label, folder = sys.argv[1:3]
    for make, suffixes in SAVED[label].items():
        random = np.random.default_rng(1)
        keras.utils.set_random_seed(1)
        keras.backend.clear_session()
        model = make()
        fill(model, random)
        scale = 100 if make in (transfer, shapes, caffe_style) else 1
        batch = 1 if make in (windows, activations, shapes,
                               transfer) else 2
        inputs = [(scale * random.normal(0, 1, (batch, *i.shape[1:])))
                  .astype("float32") for i in model.inputs]
        outputs = model(inputs if len(inputs) > 1 else inputs[0],
                        training=False)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        name = f"{folder}/{make.__name__}_{label}"
        for suffix in suffixes:
            model.save(f"{name}.{suffix}")
        with open(f"{name}.io", "wb") as file:
            for array in inputs + [o.numpy() for o in outputs]:
                file.write(np.ascontiguousarray(array, "<f4").tobytes())
        print(name, model.count_params(),
              [tuple(o.shape) for o in outputs])


main()
