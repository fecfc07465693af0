// `import Godwit` is all that a caller writes: models, stores and Xcode's files are part of what it says.
@_exported public import GodwitModel
@_exported public import GodwitStore
@_exported public import GodwitXcode
