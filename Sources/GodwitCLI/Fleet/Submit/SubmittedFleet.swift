import Foundation
import GodwitModel
import GodwitPlatform

/// What the script or manifest for a scheduler says about a fleet: a plan, and the options of `submit`.
struct SubmittedFleet {
  /// The fleet's name: letters, digits, `-` and `_`.
  var name: String
  /// Absolute paths of the fleet's manifest, of its folder, and of the job's manifest.
  var manifest, folder, jobManifest: String
  /// What `plan.json` calls itself: hex digits that another plan does not have.
  var identity: String
  var stores: Int64
  var shards: Int
  /// Whether shard 0 is the canary.
  var hasCanary: Bool
  /// Stores that one process migrates at the same time.
  var jobs: Int
  /// The memory budget of one process, with what the program itself takes.
  var memoryBytes: Int64
  var largestShardSeconds: Double
  var options = SubmitOptions()

  /// - Throws: `.usage` for a plan without shards, and for a path that no script can name; `.dataWrong` for a plan that
  ///   Godwit did not write.
  func checked() throws -> SubmittedFleet {
    let isName = name.wholeMatch(of: /[A-Za-z0-9_-]{1,60}/) != nil
    guard isName, identity.wholeMatch(of: /[0-9a-f]{16,128}/) != nil, (1...1024).contains(jobs) else {
      throw GodwitError(
        .dataWrong,
        "cannot use the plan of the fleet: its name, its identity or its jobs are not as Godwit writes them",
        context: folder, remedy: "make it again with `godwit fleet plan --force`")
    }
    guard shards > 0 else {
      throw GodwitError(
        .usage, "the plan of fleet '\(name)' has no store to migrate", context: folder,
        remedy: "run `godwit fleet plan` again when there are stores to migrate")
    }
    for path in [manifest, folder, jobManifest] {
      guard path.hasPrefix("/"), path.unicodeScalars.allSatisfy({ !ScriptText.isControl($0) }) else {
        throw GodwitError(
          .usage, "cannot write '\(path)' into a script: expected a path without line breaks and control characters",
          remedy: "rename the file or folder")
      }
    }
    return self
  }

  /// The shards that follow the canary.
  var laterShards: Range<Int> { (hasCanary ? 1 : 0)..<shards }

  /// MiB that one process may take: as planned, a quarter more for the files that SQLite and the system keep in memory,
  /// and 64 MiB for models and large values, in steps of 32 MiB.
  var memoryMiB: Int {
    let budget = Int(clamping: max(memoryBytes, 0)) >> 20
    let bounded = min(budget, 1 << 30)
    return (bounded + bounded / 4 + 64 + 31) / 32 * 32
  }

  /// Seconds of the largest shard as planned, within a year.
  var plannedSeconds: Int {
    guard largestShardSeconds.isFinite else { return 0 }
    return Int(min(max(largestShardSeconds, 0), 31_536_000))
  }

  /// The turns of a shard that does not end in one, for a limit of so many seconds: four times as many as planned, and
  /// at least ten.
  func turns(ofSeconds limit: Int) -> Int { max(10, (plannedSeconds + limit - 1) / max(limit, 1) * 4) }

  /// `12 shards, 10000 stores`, for a comment.
  var size: String { "\(shards) \(shards == 1 ? "shard" : "shards"), \(stores) \(stores == 1 ? "store" : "stores")" }

  /// What runs in which order, for a comment.
  var order: String { hasCanary ? "the canary, then the other shards" : "the shards" }

  /// How a file of the fleet's folder is named in a script that has the folder as `$folder`.
  static let report = "report.html"
  static let results = "results.jsonl"
  static let retryList = "retry.txt"
}

/// What the command line of `submit` adds to the plan.
struct SubmitOptions {
  /// The time of one turn, in seconds.
  var seconds: Int?
  /// Processes at the same time.
  var throttle: Int?
  /// The container image, of Kubernetes.
  var image: String?
  /// The volume claim, of Kubernetes.
  var claim: String?
}
