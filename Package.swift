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
      targets: [
        "Godwit", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitInference", "GodwitJob", "GodwitMapping",
        "GodwitVerifier",
      ]),
    .library(name: "GodwitManifest", targets: ["GodwitManifest"]),
    .library(name: "GodwitTesting", targets: ["GodwitTesting"]),
    .library(name: "GodwitCLI", targets: ["GodwitCLI"]),
    .executable(name: "godwit", targets: ["godwit-tool"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
  ],
  targets: [
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // Apple's systems have CryptoKit in its place.
    .systemLibrary(name: "CNettle", pkgConfig: "nettle", providers: [.apt(["nettle-dev"])]),
    // Differences between the C libraries of Linux and Darwin, and calls that Swift's own modules for them lack.
    .systemLibrary(name: "CPosix"),
    // The targets below are in the order of a job. A target imports only targets that are listed above it
    // (`TargetTests` checks that).
    //
    // The C library of the system, and its hash functions, under one name.
    .target(
      name: "GodwitPlatform",
      dependencies: ["CPosix", .target(name: "CNettle", condition: .when(platforms: [.linux, .android]))],
      swiftSettings: strict),
    // The meaning of the data, as pure values: models, mappings, values, expressions and version hashes.
    .target(name: "GodwitModel", dependencies: ["GodwitPlatform"], swiftSettings: strict),
    // XML as tokens and as elements, bounded, with positions.
    .target(name: "GodwitXML", dependencies: ["GodwitPlatform", "GodwitModel"], swiftSettings: strict),
    // Reads and writes Xcode's files: models, mapping models and their archives.
    .target(name: "GodwitXcode", dependencies: ["GodwitModel", "GodwitXML", "CZlib"], swiftSettings: strict),
    // Pairs of keys that do not fit in memory, in framed and checksummed LZ4.
    .target(
      name: "GodwitSpill",
      dependencies: ["CLZ4", "GodwitPlatform", .product(name: "SystemPackage", package: "swift-system")],
      swiftSettings: strict),
    // How a Core Data store holds the data: tables, columns, rows, XML, external files.
    .target(
      name: "GodwitStore",
      dependencies: [
        "CSQLite", "GodwitPlatform", "GodwitModel", "GodwitXML",
      ], swiftSettings: strict),
    // Makes stores of any size with made-up content.
    .target(
      name: "GodwitSynthesis", dependencies: ["GodwitPlatform", "GodwitModel", "GodwitStore"], swiftSettings: strict),
    // The differences between two models, and the mapping that Core Data would infer.
    .target(
      name: "GodwitInference", dependencies: ["GodwitModel", "GodwitXcode", "GodwitStore"], swiftSettings: strict),
    // Work folders, locks, copies, renames, free space and syncs.
    .target(
      name: "GodwitDisk", dependencies: ["GodwitPlatform", "GodwitModel", "GodwitStore"], swiftSettings: strict),
    // The job as values: steps, path, chunks, plan and progress. The policy protocol.
    .target(
      name: "GodwitJob",
      dependencies: ["GodwitPlatform", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitInference", "GodwitDisk"],
      swiftSettings: strict),
    // Mapping files in YAML, and the search for the mapping models of a project.
    .target(
      name: "GodwitMapping",
      dependencies: [
        "GodwitPlatform", "GodwitModel", "GodwitXcode", "GodwitJob", .product(name: "Yams", package: "Yams"),
      ], swiftSettings: strict),
    // Proves a destination against its source. It cannot import the targets below, which move the data. Both use the
    // evaluator, the readers of stores and schemas, and the comparison of two models.
    .target(
      name: "GodwitVerifier",
      dependencies: ["GodwitPlatform", "GodwitModel", "GodwitStore", "GodwitInference", "GodwitDisk", "GodwitJob"],
      swiftSettings: strict),
    // Predicates and value expressions as SQL, with the functions that the SQL calls.
    .target(
      name: "GodwitLowering",
      dependencies: ["GodwitPlatform", "GodwitModel", "GodwitSpill", "GodwitStore", "GodwitDisk", "GodwitJob"],
      swiftSettings: strict),
    // Plans chunks and carries them out: the planner, the statements of each stage, the executor, the ledger.
    .target(
      name: "GodwitEngine",
      dependencies: [
        "GodwitPlatform", "GodwitModel", "GodwitSpill", "GodwitStore", "GodwitInference", "GodwitDisk", "GodwitJob",
        "GodwitLowering",
      ], swiftSettings: strict),
    // Migrates a store in place: by its schema alone, or by SQL on a clone.
    .target(
      name: "GodwitInPlace",
      dependencies: [
        "GodwitModel", "GodwitStore", "GodwitInference", "GodwitDisk", "GodwitJob", "GodwitLowering", "GodwitEngine",
      ], swiftSettings: strict),
    // The façade: `MigrationManager` runs a job of any kind.
    .target(
      name: "Godwit",
      dependencies: [
        "GodwitPlatform", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitInference", "GodwitDisk", "GodwitJob",
        "GodwitMapping", "GodwitVerifier", "GodwitLowering", "GodwitEngine", "GodwitInPlace",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    // Reads job manifests in YAML, and makes jobs of them.
    .target(
      name: "GodwitManifest",
      dependencies: [
        "GodwitPlatform", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitInference", "GodwitDisk", "GodwitJob",
        "GodwitMapping", "GodwitVerifier", "Godwit",
        .product(name: "Yams", package: "Yams"), .product(name: "Logging", package: "swift-log"),
      ],
      // `godwit schema` prints them, without a file beside the executable.
      resources: [.embedInCode("Schemas")],
      swiftSettings: strict),
    // Tests of policies: a small store of literals, one step, the objects that it makes.
    .target(
      name: "GodwitTesting",
      dependencies: [
        "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitInference", "GodwitJob", "GodwitVerifier", "Godwit",
        "GodwitManifest",
      ], swiftSettings: strict),
    // Finds in models and mapping models what will break for users; the lock file of shipped versions.
    .target(
      name: "GodwitLint",
      dependencies: [
        "GodwitModel", "GodwitXML", "GodwitXcode", "GodwitStore", "GodwitInference", "GodwitJob", "GodwitEngine",
        "GodwitInPlace", "GodwitMapping", "GodwitManifest",
      ], swiftSettings: strict),
    // Verbs, progress, signals and exit status.
    .target(
      name: "GodwitCLI",
      dependencies: [
        "GodwitPlatform", "GodwitModel", "GodwitXcode", "GodwitSpill", "GodwitStore", "GodwitSynthesis",
        "GodwitInference",
        "GodwitDisk", "GodwitJob", "GodwitVerifier", "Godwit", "GodwitManifest", "GodwitLint",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
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
        "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSynthesis", "GodwitDisk", "GodwitJob", "Godwit",
        "FaultShim",
      ],
      path: "Tests/TestSupport", swiftSettings: strict),
    .target(name: "FaultShim", path: "Tests/FaultShim"),
    .testTarget(name: "GodwitModelTests", dependencies: ["GodwitModel", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "GodwitXcodeTests",
      dependencies: ["GodwitXcode", "GodwitXML", "GodwitModel", "GodwitStore", "TestSupport"],
      swiftSettings: strict),
    .testTarget(name: "GodwitSpillTests", dependencies: ["GodwitSpill", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "GodwitStoreTests",
      dependencies: [
        "GodwitStore", "GodwitXML", "GodwitSynthesis", "GodwitPlatform", "GodwitXcode", "GodwitModel", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "GodwitTests",
      dependencies: [
        "Godwit", "GodwitManifest", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSpill", "GodwitSynthesis",
        "GodwitInference", "GodwitDisk", "GodwitJob", "GodwitVerifier", "GodwitLowering", "GodwitEngine",
        "GodwitInPlace", "TestSupport",
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
        "Godwit", "GodwitManifest", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSynthesis", "GodwitInference",
        "GodwitJob",
      ], swiftSettings: strict),
    .testTarget(
      name: "GodwitLintTests",
      dependencies: ["GodwitLint", "GodwitModel", "GodwitXcode", "GodwitManifest", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "GodwitCLITests",
      dependencies: [
        "GodwitCLI", "Godwit", "GodwitMapping", "GodwitManifest", "GodwitModel", "GodwitXcode", "GodwitStore",
        "GodwitSynthesis",
        "GodwitInference", "GodwitDisk", "GodwitJob", "GodwitVerifier", "GodwitEngine", "GodwitXML", "TestSupport",
        "godwit-tool", "todo-migration", .product(name: "Yams", package: "Yams"),
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
