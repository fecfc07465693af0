// swift-tools-version:6.2
import PackageDescription

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
      ])
  ],
  swiftLanguageModes: [.v6]
)
