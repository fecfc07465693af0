// GodwitManifest
