import Foundation
import Godwit
import GodwitDisk
import GodwitJob
package import GodwitManifest
import GodwitModel
import GodwitPlatform
import GodwitStore

/// Makes the plan of a fleet: finds the stores, looks at each, and cuts what is to be done into shards.
///
/// 1. `find` takes the paths of a pattern or a list into a temporary table beside the fleet's folder.
/// 2. `look` reads the metadata of each store.
/// 3. `resolve` loads one job for each version.
/// 4. `claim` checks where all jobs write.
/// 5. `cut` packs the shards, and writes them.
/// 6. `install` puts the folder in its place.
///
/// Memory does not grow with the number of stores.
package struct FleetPlanner {
  package let fleet: FleetManifest
  /// The job's loader, with the pattern of the fleet.
  package let loader: JobLoader
  let share: ByteCount
  let paths: FleetPaths
  let jobs: Int

  static let storesAtOnce = 1000

  /// - Throws: What is wrong with the job's manifest, or with the fleet's memory.
  package init(_ fleet: FleetManifest, job: JobLoader) throws {
    self.fleet = fleet
    loader = try job.taking(fleet)
    jobs = fleet.jobs ?? loader.usualJobs
    share = try loader.memoryShare(jobs)
    paths = FleetPaths(fleet, job: loader)
    guard fleet.stores == .standardInput, fleet.root == nil, loader.needsFolder else { return }
    throw GodwitError(
      .configuration, "cannot tell {folder} of the stores of standard input: it would depend on the current folder",
      location: fleet.locations["stores"],
      remedy: "write `root: FOLDER`, a folder that has all stores below it", safe: "nothing was written")
  }

  /// Makes the plan and its folder.
  ///
  /// - Parameter isForced: Whether a plan that has results is replaced, with its results.
  /// - Returns: The plan, and whether it is an earlier one, from which nothing differs.
  /// - Throws: 66 when no store is found; 73 when another plan has results; 75 while a shard runs; 78 when two stores
  ///   have one destination, or a destination would be a source.
  package func plan(isForced: Bool) throws -> (plan: FleetPlan, isKept: Bool) {
    let target = StoreLook.key(try loader.shippedVersions().destination.versionHashes.mapValues(\.bytes))
    let inputs = try Self.inputs(fleet, job: loader)
    // A link stays, and what it leads to is replaced.
    let folder = StoreFiles.resolvingLink(FleetPaths.absolute(fleet.folder.resolved))
    try WorkFolder.makeFolder(folder.parentPath)
    let scratch = try ScratchFolder(name: ".godwit-fleet-plan", in: folder.parentPath)
    defer { withExtendedLifetime(scratch) {} }
    let table = try SurveyTable(path: scratch.path + "/stores.sqlite")
    defer { try? table.connection.close() }
    var plan = FleetPlan(
      fleet: fleet.name, jobManifest: fleet.job.raw, made: FleetTime.text(Date()), jobs: jobs,
      memoryBytes: loader.manifest.memory.bytes + Self.programBytes,
      failures: fleet.failures == .init() ? nil : .init(fleet.failures), inputs: inputs)
    try find(table, besides: [fleet.folder.resolved, folder, scratch.path], &plan)
    try look(table, target: target)
    let pairs = try resolve(table, &plan)
    try claim(table)
    plan.surveyed = try Self.digest(table)
    try ShardWriter(planner: self, table: table, pairs: pairs).write(to: scratch.path + "/plan", &plan)
    let place = FleetFolder(path: folder)
    let isKept = try FleetInstallation(folder: place, scratch: scratch.path, plan: plan).install(isForced: isForced) {
      try EarlierPlan(folder: place, plan: $0, paths: paths, isInPlace: loader.isInPlace).difference(from: table)
    }
    return (try isKept ? FleetFolder(path: folder).plan() : plan, isKept)
  }

  /// What the program itself takes beside its budget.
  package static let programBytes: Int64 = 64 << 20

  /// The digest of what must not change until the fleet is done.
  ///
  /// - Parameter loader: With the pattern of the fleet.
  package static func inputs(_ fleet: FleetManifest, job loader: JobLoader) throws -> String {
    var sum = SHA256()
    sum.update(data: try loader.inputsDigest())
    let stores =
      switch fleet.stores {
      case .ofJob: "job"
      case .pattern(let path): "pattern \(path.raw)"
      case .list(let path): "list \(path.raw)"
      case .standardInput: "input"
      }
    // Another version may make other stores: two of them must not share one plan.
    let texts: [String] = [
      Receipt.godwitVersion, fleet.name, fleet.job.raw, stores, fleet.root?.raw ?? "", "\(fleet.shards)",
      "\(fleet.canary as Any?)",
    ]
    for text in texts { sum.update(data: Array(text.utf8) + [0]) }
    return sum.finalize().hex
  }

  private static func digest(_ table: SurveyTable) throws -> String {
    var sum = SHA256()
    try table.forEachPath { sum.update(data: Array($0.utf8) + [0]) }
    return sum.finalize().hex
  }

  // MARK: Finding

  /// Finds the stores, and counts the paths that lead to a store to which another one leads.
  ///
  /// - Parameter own: Folders of the fleet itself, whose files are no stores.
  private func find(_ table: SurveyTable, besides own: [String], _ plan: inout FleetPlan) throws {
    var doubles: Int64 = 0
    let keepsOld = loader.isInPlace
    let own = own.map { FleetPaths.absolute($0) + "/" }
    func add(_ path: String, isListed: Bool) throws {
      let kept = paths.kept(path)
      if !isListed {
        let whole = FleetPaths.absolute(path)
        if own.contains(where: { whole.utf8.starts(with: $0.utf8) }) { return }
      }
      var info = stat()
      let isThere = stat(path, &info) == 0
      let identity =
        isThere
        ? SurveyTable.Identity(
          device: Int64(truncatingIfNeeded: info.st_dev), number: Int64(truncatingIfNeeded: info.st_ino)) : nil
      let isNew = try table.add(
        path: kept, bytes: isThere ? Int64(info.st_size) : 0, identity: identity,
        old: keepsOld ? MigrationJob.InPlace.oldPath(of: kept) : nil)
      if !isNew, isListed { doubles += 1 }
    }
    let place: String
    switch fleet.stores {
    case .list(let path):
      place = "the list '\(path.raw)'"
      try StoreList(path: path.resolved).forEachPath { try add($0, isListed: true) }
    case .standardInput:
      place = "standard input"
      try StoreList().forEachPath { try add($0, isListed: true) }
    case .ofJob, .pattern:
      let source = loader.manifest.source
      place = "the pattern '\(source.raw)'"
      // One folder that may not be read does not keep a million others from their migration.
      func refuse(_ path: String, _ error: GodwitError) throws {
        try table.addUnreadable(path: paths.kept(path), problem: Self.problem(error, store: paths.kept(path)))
      }
      try loader.storePattern.forEachFile(unreadable: refuse) { match in
        guard !match.isBesideStore else { return }
        guard keepsOld, let newer = match.pathOfNewer else { return try add(match.path, isListed: false) }
        // An old store, and not for long a store to migrate. Without the newer one somebody has to look at it.
        var info = stat()
        guard stat(newer, &info) != 0 else { return }
        let kept = paths.kept(match.path)
        let error = GodwitError(
          .configuration,
          "left out '\(kept)': in place, old stores get such a name, and '\(paths.kept(newer))' is missing")
        try table.addUnreadable(path: kept, problem: Self.problem(error, store: kept))
      }
    }
    let settled = try table.settle()
    plan.duplicates = doubles + settled.doubles
    if settled.old > 0 { plan.oldStores = settled.old }
    guard try table.connection.integer("SELECT 1 FROM stores LIMIT 1") != nil else {
      throw GodwitError(
        .missingInput, "cannot plan fleet '\(fleet.name)': \(place) names no store",
        location: fleet.locations["stores"] ?? loader.manifest.source.location,
        remedy: "correct 'stores'; as in a shell, * and ? match no name that begins with a dot",
        safe: "nothing was written")
    }
  }

  private static func problem(_ error: GodwitError, store: String) throws -> String {
    let problem = FleetPlan.Unreadable(
      store: store, status: error.code.rawValue, code: error.code.name, message: error.message)
    return String(decoding: try JSONEncoder().encode(problem), as: UTF8.self)
  }

  // MARK: Looking

  /// Of a network's file system, most of the time is waiting.
  var lookingThreads: Int { min(16, max(4, 2 * ProcessInfo.processInfo.activeProcessorCount)) }

  private func look(_ table: SurveyTable, target: String) throws {
    let inputs = SharedInputs()
    let looker = StoreLooker(loader: loader.alone, paths: paths, share: share, target: target)
    try table.forEachStore(atOnce: Self.storesAtOnce) { rows in
      let looks = Parallel.map(rows, threads: lookingThreads) { looker.look($0.path) }
      for (row, look) in zip(rows, looks) {
        let problem = try look.problem.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        let isCurrent = problem == nil && look.isDone && self.isCurrent(row.path, inputs)
        try table.note(
          row.id, problem != nil ? .unreadable : isCurrent ? .current : .wanted,
          version: try look.version.map(table.version), bytes: look.bytes,
          seconds: WorkEstimate.seconds(bytes: look.bytes), problem: problem, isUnfinished: look.isUnfinished)
      }
    }
    try table.commit()
  }

  /// Whether the receipt of a finished destination says that this very job made it, of the store as it is. Where nothing
  /// says so, the store goes into a shard, and its own run decides.
  private func isCurrent(_ kept: String, _ inputs: SharedInputs) -> Bool {
    let store = loader.store(for: paths.match(kept).match, memory: share, inputs).store
    guard let job = try? store.loader.job() else { return false }
    return MigrationManager(job).isCurrentByReceipt()
  }

  // MARK: Where jobs write

  private func claim(_ table: SurveyTable) throws {
    let needsFolder = loader.needsFolder
    let inputs = SharedInputs()
    let pattern: StorePattern? =
      switch fleet.stores {
      case .ofJob, .pattern: loader.storePattern
      case .list, .standardInput: nil
      }
    var places = StorePlaces(loader.manifest, pattern, table)
    try table.forEachStore(atOnce: Self.storesAtOnce) { rows in
      for row in rows {
        let (match, isInRoot) = paths.match(row.path)
        guard isInRoot || !needsFolder else {
          throw GodwitError(
            .configuration, "cannot tell {folder} of '\(match.path)': it is not below '\(fleet.root?.raw ?? ".")'",
            location: fleet.locations["root"] ?? fleet.locations["stores"],
            remedy: "write `root: FOLDER`, a folder that has all stores below it", safe: "nothing was written")
        }
        if let error = loader.obstacle(to: match) { throw error }
        let made = loader.store(for: match, memory: share, inputs)
        let folder = FleetPaths.absolute(fleet.folder.resolved) + "/"
        for path in [match.path, made.store.destination]
        where FleetPaths.absolute(path).utf8.starts(with: folder.utf8) {
          throw GodwitError(
            .configuration, "'\(path)' is in the fleet's folder, which goes when the fleet is planned again",
            location: fleet.locations["folder"] ?? loader.manifest.source.location,
            remedy: "name another folder with 'folder', or another destination", safe: "nothing was written")
        }
        try places.claim(made.store, receipt: made.receipt)
      }
    }
    guard !loader.isInPlace else { return }
    try table.forEachStore(atOnce: Self.storesAtOnce) { rows in
      for row in rows { try places.check(paths.opened(row.path)) }
    }
    try table.commit()
  }
}

extension FleetPaths {
  /// The paths of a fleet.
  ///
  /// - Parameter loader: The job's loader, with the pattern of the fleet.
  package init(_ fleet: FleetManifest, job loader: JobLoader) {
    let root: String
    switch fleet.stores {
    case .ofJob, .pattern: root = loader.storePattern.root
    case .list(let path): root = fleet.root?.resolved ?? path.resolved.parentPath
    case .standardInput: root = fleet.root?.resolved ?? "."
    }
    self.init(base: fleet.base, root: root)
  }
}
