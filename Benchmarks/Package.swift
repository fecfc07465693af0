// swift-tools-version:6.2
import PackageDescription

/// The name that SwiftPM gives the compiler for the package above, made from the name of its folder. With the same name
/// the benchmarks may use its `package` declarations.
let folder = Context.packageDirectory.split(separator: "/").dropLast().last ?? "godwit"
let identity = String(folder.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })

let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "godwit", path: "../"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .executableTarget(
      name: "MigrationBenchmark",
      dependencies: [
        .product(name: "Godwit", package: "godwit"), .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      // Without this SwiftPM would give the name of this package.
      packageAccess: false,
      swiftSettings: [.unsafeFlags(["-package-name", identity])])
  ],
  swiftLanguageModes: [.v6]
)
