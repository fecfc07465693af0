// swift-tools-version:6.2
import PackageDescription

var strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]
if Context.environment["CI"] != nil { strict.append(.treatAllWarnings(as: .error)) }

let package = Package(
  name: "godwit",
  // The standard library's `Mutex` and task executors need this version.
  platforms: [.macOS(.v15)],
  products: [
    .library(
      name: "Godwit",
      targets: ["Godwit", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitJob", "GodwitManifest", "GodwitVerifier"]),
    .library(name: "GodwitTesting", targets: ["GodwitTesting"]),
    .library(name: "GodwitCLI", targets: ["GodwitCLI"]),
    .executable(name: "godwit", targets: ["godwit-tool"]),
  ],
  dependencies: [
    // One declaration parses, checks, documents and completes an option.
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    // Gives line and column of every node of YAML.
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    // An embedding program passes its own `Logger` for `-v`.
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    // Descriptors of spill files keep `errno` in their errors.
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
  ],
  targets: [
    // Version 3.37 or later. GRDB would make a row five to eleven times as slow.
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    // The reference implementations. Linux has no Compression framework.
    .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // SHA-256 and SHA-512. Foundation has none on Linux, swift-crypto compiles 300 files, OpenSSL frees its tables at exit
    // under a thread. Apple's systems have CryptoKit in its place.
    .systemLibrary(name: "CNettle", pkgConfig: "nettle", providers: [.apt(["nettle-dev"])]),
    // Differences between the C libraries of Linux and Darwin, and calls that Swift's own modules for them lack.
    .systemLibrary(name: "CPosix"),
    // The targets below stand on six floors, the lowest first. A target imports targets of lower floors alone, and
    // `TargetTests` checks that.
    //
    // The meaning of the data, as pure values: models and their differences, mappings, expressions, version hashes, XML.
    .target(
      name: "GodwitModel",
      dependencies: ["CPosix", .target(name: "CNettle", condition: .when(platforms: [.linux, .android]))],
      exclude: ["README.md"], swiftSettings: strict),
    // Reads and writes Xcode's files: models, mapping models and their archives.
    .target(
      name: "GodwitXcode", dependencies: ["GodwitModel", "CZlib"], exclude: ["README.md"], swiftSettings: strict),
    // How a Core Data store holds the data, and what lies on the disk beside it: tables, rows, atomic stores, external
    // files; work folders, locks and copies; pairs of keys that do not fit in memory.
    .target(
      name: "GodwitStore",
      dependencies: [
        "CSQLite", "CLZ4", "GodwitModel", .product(name: "SystemPackage", package: "swift-system"),
      ], exclude: ["README.md"], swiftSettings: strict),
    // The job as values: steps, path, chunks, plan and progress. The policy protocol.
    .target(
      name: "GodwitJob", dependencies: ["GodwitModel", "GodwitXcode", "GodwitStore"], exclude: ["README.md"],
      swiftSettings: strict),
    // Plans chunks and carries them out: the planner, the statements of each stage, the executor, the ledger; migration
    // in place.
    .target(
      name: "GodwitEngine", dependencies: ["GodwitModel", "GodwitStore", "GodwitJob"], exclude: ["README.md"],
      swiftSettings: strict),
    // Proves a destination against its source. It cannot import the engine, which moves the data. Both use the evaluator,
    // the readers of stores and schemas, and the comparison of two models.
    .target(
      name: "GodwitVerifier", dependencies: ["GodwitModel", "GodwitStore", "GodwitJob"], exclude: ["README.md"],
      swiftSettings: strict),
    // Job manifests and mapping files in YAML, and the search for the mapping models of a project.
    .target(
      name: "GodwitManifest",
      dependencies: [
        "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitJob", .product(name: "Yams", package: "Yams"),
        .product(name: "Logging", package: "swift-log"),
      ],
      exclude: ["README.md"],
      // `godwit schema` prints them, without a file beside the executable.
      resources: [.embedInCode("Schemas")],
      swiftSettings: strict),
    // The façade: `MigrationManager` runs a job of any kind.
    .target(
      name: "Godwit",
      dependencies: [
        "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitJob", "GodwitEngine", "GodwitVerifier", "GodwitManifest",
        .product(name: "Logging", package: "swift-log"),
      ], exclude: ["README.md"], swiftSettings: strict),
    // The workshop: targets that no migration needs.
    //
    // Stores of any size with made-up content.
    .target(
      name: "GodwitSynthesis", dependencies: ["GodwitModel", "GodwitStore"], path: "Sources/Workshop/Synthesis",
      exclude: ["README.md"], swiftSettings: strict),
    // Tests of policies: a small store of literals, one step, the objects that it makes.
    .target(
      name: "GodwitTesting",
      dependencies: [
        "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitJob", "GodwitVerifier", "GodwitManifest", "Godwit",
      ],
      path: "Sources/Workshop/Testing", exclude: ["README.md"], swiftSettings: strict),
    // Finds in models and mapping models what will break for users; the lock file of shipped versions.
    .target(
      name: "GodwitLint",
      dependencies: ["GodwitModel", "GodwitXcode", "GodwitStore", "GodwitJob", "GodwitEngine", "GodwitManifest"],
      path: "Sources/Workshop/Lint", exclude: ["README.md"], swiftSettings: strict),
    // A whole store from what can be read of a damaged one.
    .target(
      name: "GodwitSalvage",
      dependencies: ["GodwitModel", "GodwitXcode", "GodwitStore", "GodwitJob", "GodwitManifest"],
      path: "Sources/Workshop/Salvage", exclude: ["README.md"], swiftSettings: strict),
    // Verbs, progress, signals and exit status.
    .target(
      name: "GodwitCLI",
      dependencies: [
        "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitJob", "GodwitVerifier", "GodwitManifest", "Godwit",
        "GodwitSynthesis", "GodwitLint", "GodwitSalvage",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], exclude: ["README.md"], swiftSettings: strict),
    .executableTarget(name: "godwit-tool", dependencies: ["GodwitCLI"], swiftSettings: strict),
    // An example: a user's own executable with a migration policy.
    .executableTarget(
      name: "todo-migration", dependencies: ["GodwitCLI", "Godwit", "GodwitModel", "GodwitJob"],
      path: "jobs/todo/Sources",
      swiftSettings: strict),
    .testTarget(
      name: "todo-migration-tests", dependencies: ["todo-migration", "GodwitTesting"], path: "jobs/todo/Tests",
      swiftSettings: strict),
    .target(
      name: "TestSupport",
      dependencies: [
        "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSynthesis", "GodwitJob", "Godwit", "FaultShim",
      ],
      path: "Tests/TestSupport", swiftSettings: strict),
    .target(name: "FaultShim", path: "Tests/FaultShim"),
    .testTarget(name: "GodwitModelTests", dependencies: ["GodwitModel", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "GodwitXcodeTests",
      dependencies: ["GodwitXcode", "GodwitModel", "GodwitStore", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "GodwitStoreTests",
      dependencies: ["GodwitStore", "GodwitModel", "GodwitSynthesis", "GodwitXcode", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "GodwitTests",
      dependencies: [
        "Godwit", "GodwitManifest", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSynthesis", "GodwitJob",
        "GodwitVerifier", "GodwitEngine", "TestSupport",
      ],
      exclude: ["Mappings"],
      swiftSettings: strict),
    .testTarget(
      name: "GodwitManifestTests",
      dependencies: [
        "GodwitManifest", "GodwitLint", "GodwitCLI", "Godwit", "GodwitJob", "GodwitModel", "GodwitXcode", "TestSupport",
        .product(name: "Yams", package: "Yams"),
      ], swiftSettings: strict),
    .testTarget(
      name: "GodwitTestingTests",
      dependencies: ["GodwitTesting", "Godwit", "GodwitModel", "GodwitStore", "TestSupport"],
      swiftSettings: strict),
    // Compares Godwit with Core Data itself: empty where there is no Core Data.
    .testTarget(
      name: "AppleTruthTests",
      dependencies: [
        "Godwit", "GodwitManifest", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSynthesis", "GodwitJob",
      ], swiftSettings: strict),
    .testTarget(
      name: "GodwitLintTests",
      dependencies: ["GodwitLint", "GodwitModel", "GodwitXcode", "GodwitManifest", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "GodwitSalvageTests",
      dependencies: ["GodwitSalvage", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSynthesis", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "GodwitCLITests",
      dependencies: [
        "GodwitCLI", "Godwit", "GodwitManifest", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSynthesis",
        "GodwitJob", "GodwitVerifier", "GodwitEngine", "TestSupport", "godwit-tool", "todo-migration",
        .product(name: "Yams", package: "Yams"),
      ], exclude: ["Golden"], swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)

// Only a build of the documentation needs the DocC plugin. `.ci/docs` sets the variable.
if Context.environment["GODWIT_DOCS"] != nil {
  package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

#if os(macOS)
  // The other suites have never been compiled on a Mac. They must not keep `AppleTruthTests` from running.
  if Context.environment["GODWIT_TESTS"] == nil {
    let support: Set<String> = ["TestSupport", "FaultShim"]
    package.targets.removeAll { $0.type == .test && $0.name != "AppleTruthTests" || support.contains($0.name) }
  }
#endif
