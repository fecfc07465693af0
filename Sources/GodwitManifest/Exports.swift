// A manifest makes jobs: jobs, models, stores and Xcode's files are part of what it says.
@_exported public import GodwitJob
@_exported public import GodwitModel
@_exported public import GodwitStore
@_exported public import GodwitXcode
