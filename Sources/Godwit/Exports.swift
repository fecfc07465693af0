// `import Godwit` is all that a caller writes: models, stores, Xcode's files and jobs are part of what it says.
@_exported public import GodwitJob
@_exported public import GodwitManifest
@_exported public import GodwitModel
@_exported public import GodwitStore
@_exported public import GodwitVerifier
@_exported public import GodwitXcode
