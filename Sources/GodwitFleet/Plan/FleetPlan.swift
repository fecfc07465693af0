import Foundation
package import GodwitManifest
import GodwitModel
import GodwitStore

/// What is to be done in a fleet: `plan.json` of its folder, and what `godwit fleet plan` prints as JSON.
///
/// Schedulers' scripts are made from it, so no key goes or changes its meaning while `version` is 1.
package struct FleetPlan: Codable, Sendable, Equatable {
  /// A store that is in no shard, because it cannot be read or no model fits it.
  package struct Unreadable: Codable, Sendable, Equatable {
    package var store: String
    /// The exit status that a job of its own would end with.
    package var status: Int32
    package var code, message: String
  }

  /// Stores of one version.
  package struct Pair: Codable, Sendable, Equatable {
    /// What becomes of them.
    package enum Outcome: String, Codable, Sendable, CaseIterable {
      case migrate
      /// They have the destination's version.
      case current
      /// No model fits them, or no path leads on.
      case noPath = "no-path"
    }

    /// The name of the model, else the beginning of the digest of the store's version hashes.
    package var version: String
    package var stores, bytes: Int64
    package var outcome: Outcome
    /// The versions from the first to the last, where there is a path.
    package var path: [String]
    /// What some of the stores would lose: others may lose more.
    package var losses: [String]
    /// Why there is no path; or that the model of the stores is the one that they carry.
    package var message: String?
  }

  /// The limits of failed stores.
  package struct Limits: Codable, Sendable, Equatable {
    package var maxStores: Int?
    package var maxPercent: Double?

    package init(_ failures: FleetManifest.Failures) {
      (maxStores, maxPercent) = (failures.maxStores, failures.maxPercent)
    }
  }

  package var schemaVersion = 1
  package var type = "fleet-plan"
  package var version = 1
  package var fleet: String
  /// As the fleet's file has it.
  package var jobManifest: String
  package var made: String
  /// In shards.
  package var stores: Int64
  package var current, duplicates, unreadable: Int64
  /// In place: stores of a list that an earlier run kept as the old ones of others in it. nil for none.
  package var oldStores: Int64?
  package var firstUnreadable: [Unreadable]
  package var bytes: Int64
  package var estimatedSeconds: Double
  package var shards: Int
  /// The stores of each shard.
  package var shardStores: [Int64]
  /// Whether shard 0 goes first.
  package var canary: Bool
  package var canaryStores: Int64
  package var jobs: Int
  /// What one process may take.
  package var memoryBytes: Int64
  package var largestShardSeconds: Double
  package var pairs: [Pair]
  package var failures: Limits?
  /// Digest of the inputs and of the shards: results that carry another one are of another plan.
  package var identity: String
  /// Digest of what must not change until the fleet is done: fleet file, job manifest, models, mapping models.
  package var inputs: String
  /// Digest of the stores that were found.
  package var surveyed: String

  /// The name of the first 20 unreadable stores in text.
  package static let unreadableShown = 20

  /// More stores than a shard can have: a damaged number must not ask for memory. A merge takes eight bytes for each.
  private static let shardStoresMaximum: Int64 = 1 << 27
  /// No sum of two such numbers overflows.
  private static let numberMaximum: Int64 = 1 << 60

  /// Reads `plan.json`.
  ///
  /// - Throws: `.missingInput` (66) without it, `.dataWrong` (65) when it is damaged or of another format.
  package init(contentsOf path: String) throws {
    guard FileManager.default.fileExists(atPath: path) else {
      throw GodwitError(
        .missingInput, "cannot read the plan '\(path)': there is none", remedy: "make it with `godwit fleet plan`")
    }
    do {
      let data = try ReadableFile.bytes(of: path, limit: .gibibytes(1))
      self = try JSONDecoder().decode(FleetPlan.self, from: data ?? Data())
    } catch {
      throw GodwitError(
        .dataWrong, "cannot read the plan '\(path)'", cause: "\(error)",
        remedy: "make it again with `godwit fleet plan --force`")
    }
    guard version == 1, shardStores.count == shards, shards >= 0, shards <= FleetManifest.shardsMaximum,
      shardStores.allSatisfy({ (0...Self.shardStoresMaximum).contains($0) }), shardStores.reduce(0, +) == stores,
      [current, duplicates, unreadable, oldStores ?? 0, bytes, canaryStores].allSatisfy({
        (0...Self.numberMaximum).contains($0)
      }), canaryStores <= shardStores.first ?? 0
    else {
      throw GodwitError(
        .dataWrong, "cannot read the plan '\(path)': it is of another format, or damaged",
        remedy: "make it again with `godwit fleet plan --force`")
    }
  }

  package init(
    fleet: String, jobManifest: String, made: String, jobs: Int, memoryBytes: Int64, failures: Limits?, inputs: String
  ) {
    (self.fleet, self.jobManifest, self.made) = (fleet, jobManifest, made)
    (self.jobs, self.memoryBytes, self.failures, self.inputs) = (jobs, memoryBytes, failures, inputs)
    (stores, current, duplicates, unreadable, bytes) = (0, 0, 0, 0, 0)
    (firstUnreadable, shardStores, pairs) = ([], [], [])
    (estimatedSeconds, largestShardSeconds) = (0, 0)
    (shards, canary, canaryStores) = (0, false, 0)
    (identity, surveyed) = ("", "")
  }
}
