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
  products: [
    .library(name: "Godwit", targets: ["Godwit", "GodwitModel", "GodwitXcode", "GodwitStore"]),
    .library(name: "GodwitCLI", targets: ["GodwitCLI"]),
    .executable(name: "godwit", targets: ["godwit-tool"]),
  ],
  dependencies: [
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
  ],
  targets: [
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // Calls of the C library that Glibc's module for Swift lacks.
    .systemLibrary(name: "CPosix"),
    .target(
      name: "GodwitModel",
      dependencies: [
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "OrderedCollections", package: "swift-collections"),
      ], swiftSettings: strict),
    .target(name: "GodwitXcode", dependencies: ["GodwitModel", "CZlib"], swiftSettings: strict),
    .target(
      name: "GodwitSpill",
      dependencies: ["CLZ4", .product(name: "SystemPackage", package: "swift-system")],
      swiftSettings: strict),
    .target(
      name: "GodwitStore",
      dependencies: [
        "CSQLite", "CPosix", "GodwitModel", .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
        .product(name: "Crypto", package: "swift-crypto"),
      ], swiftSettings: strict),
    .target(
      name: "Godwit",
      dependencies: [
        "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSpill",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "GodwitManifest",
      dependencies: ["Godwit", "GodwitModel", .product(name: "Yams", package: "Yams")],
      exclude: ["Schemas"],
      swiftSettings: strict),
    .target(
      name: "GodwitCLI",
      dependencies: [
        "Godwit", "GodwitManifest", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSpill", "CPosix",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .executableTarget(name: "godwit-tool", dependencies: ["GodwitCLI"], swiftSettings: strict),
    // An example: a user's own executable with a migration policy.
    .executableTarget(
      name: "todo-migration", dependencies: ["GodwitCLI", "Godwit", "GodwitModel"], path: "jobs/todo/Sources",
      swiftSettings: strict),
    .target(
      name: "TestSupport",
      dependencies: [
        "GodwitModel", "GodwitXcode", "GodwitStore", "FaultShim",
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      path: "Tests/TestSupport", swiftSettings: strict),
    .target(name: "FaultShim", path: "Tests/FaultShim"),
    .testTarget(name: "GodwitModelTests", dependencies: ["GodwitModel", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "GodwitXcodeTests", dependencies: ["GodwitXcode", "GodwitModel", "GodwitStore", "TestSupport"],
      swiftSettings: strict),
    .testTarget(name: "GodwitSpillTests", dependencies: ["GodwitSpill", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "GodwitStoreTests", dependencies: ["GodwitStore", "CPosix", "GodwitXcode", "GodwitModel", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "GodwitTests",
      dependencies: [
        "Godwit", "GodwitManifest", "GodwitModel", "GodwitXcode", "GodwitStore", "GodwitSpill", "TestSupport",
      ],
      exclude: ["Mappings"],
      swiftSettings: strict),
    .testTarget(
      name: "GodwitManifestTests",
      dependencies: [
        "GodwitManifest", "Godwit", "GodwitModel", "TestSupport", .product(name: "Yams", package: "Yams"),
      ], swiftSettings: strict),
    .testTarget(
      name: "GodwitCLITests",
      dependencies: [
        "GodwitCLI", "Godwit", "GodwitManifest", "GodwitModel", "GodwitXcode", "GodwitStore", "TestSupport",
        "godwit-tool", "todo-migration",
      ], exclude: ["Golden"], swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
