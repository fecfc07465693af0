// A service that runs manifests writes `import GodwitManifest` alone.
@_exported public import Godwit
