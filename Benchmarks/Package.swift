// swift-tools-version:6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "godwit", path: "../")],
  targets: [
    .executableTarget(
      name: "MigrationBenchmark", dependencies: [.product(name: "Godwit", package: "godwit")])
  ],
  swiftLanguageModes: [.v6]
)
