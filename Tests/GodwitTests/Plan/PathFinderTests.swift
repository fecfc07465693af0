import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Versions `V1` to `V5`; each has one attribute more than the one before.
private let versions: [ManagedObjectModel] = (1...5).compactMap { number in
  let attributes = (1...number).map { AttributeDescription(name: "a\($0)", type: .string) }
  return try? ManagedObjectModel(
    name: "V\(number)", entities: [EntityDescription(name: "Note", attributes: attributes)])
}

private func mapping(_ from: Int, _ to: Int, name: String = "Notes") throws -> FoundMapping {
  var model = MappingModel(
    sourceModelName: "V\(from)", destinationModelName: "V\(to)",
    entityMappings: [EntityMapping(name: name, kind: .copy, source: "Note", destination: "Note")])
  model.file = "\(from)-\(to)"
  return FoundMapping(model, origin: "\(from)-\(to).mapping.yaml", among: versions)
}

/// The steps as `1-2 2-3.mapping.yaml …`.
private func path(
  _ from: Int, _ to: Int, _ mappings: [FoundMapping] = [], stages: [MigrationStage] = [],
  models: [ManagedObjectModel] = versions, infers: Bool = true
) throws -> [String] {
  try MigrationPathFinder(models: models, mappings: mappings, stages: stages, infers: infers)
    .path(from: versions[from - 1], to: versions[to - 1])
    .map { "\($0.sourceModel.name) \($0.destinationModel.name) \($0.origin ?? "-")" }
}

private func failure(_ body: () throws -> Void) -> GodwitError? {
  do {
    try body()
    return nil
  } catch { return error as? GodwitError }
}

struct `Finding the way` {
  @Test func `without mapping models one step is inferred`() throws {
    #expect(try path(1, 5) == ["V1 V5 inferred"])
  }

  @Test func `a mapping model for the whole path wins`() throws {
    #expect(
      try path(1, 5, [mapping(1, 5), mapping(2, 3)]) == ["V1 V5 1-5.mapping.yaml"])
  }

  @Test func `mapping models between versions are used, and inference skips none of them`() throws {
    #expect(
      try path(1, 5, [mapping(2, 3)]) == ["V1 V2 inferred", "V2 V3 2-3.mapping.yaml", "V3 V5 inferred"])
    #expect(
      try path(1, 5, [mapping(1, 2), mapping(2, 3), mapping(3, 4), mapping(4, 5)]).count == 4)
    #expect(try path(3, 5, [mapping(2, 3)]) == ["V3 V5 inferred"])
  }

  @Test func `a path with fewer steps wins, then one with more mapping models`() throws {
    #expect(
      try path(1, 5, [mapping(1, 2), mapping(2, 3), mapping(1, 3), mapping(3, 5)])
        == ["V1 V3 1-3.mapping.yaml", "V3 V5 3-5.mapping.yaml"])
    #expect(
      try path(1, 3, [mapping(2, 3)]) == ["V1 V2 inferred", "V2 V3 2-3.mapping.yaml"])
    // As many steps over V2 as over V3, whichever leads on by a mapping model.
    #expect(
      try path(1, 5, [mapping(1, 3), mapping(1, 2), mapping(2, 5)])
        == ["V1 V2 1-2.mapping.yaml", "V2 V5 2-5.mapping.yaml"])
    #expect(
      try path(1, 5, [mapping(1, 2), mapping(1, 3), mapping(3, 5)])
        == ["V1 V3 1-3.mapping.yaml", "V3 V5 3-5.mapping.yaml"])
  }

  @Test func `among equal paths the one through the earlier version is taken`() throws {
    #expect(
      try path(1, 5, [mapping(1, 3), mapping(3, 5), mapping(1, 2), mapping(2, 5)])
        == ["V1 V2 1-2.mapping.yaml", "V2 V5 2-5.mapping.yaml"])
    #expect(
      try path(1, 5, [mapping(1, 3), mapping(1, 2)]) == ["V1 V2 1-2.mapping.yaml", "V2 V5 inferred"])
  }

  @Test func `a path never goes back to an older version, and the error gives the order of versions`() throws {
    let error = failure { _ = try path(4, 2, [mapping(4, 2)]) }
    #expect(error?.code == .noPath)
    #expect(error?.message == "no path leads from 'V4' back to 'V2'")
    #expect(error?.cause == "the versions are 'V1', 'V2', 'V3', 'V4', 'V5', oldest first")
    #expect(
      error?.remedy
        == "if 'V4' is older than 'V2', say so: `version-order: [V1, V3, V4, V2, V5]`")
    // In another order the same way leads forward.
    #expect(try path(4, 2, [mapping(4, 2)], models: versions.reversed()) == ["V4 V2 4-2.mapping.yaml"])
  }

  @Test func `a path stops at every stage`() throws {
    #expect(
      try path(1, 5, stages: [.lightweight(to: "V3")]) == ["V1 V3 inferred", "V3 V5 inferred"])
    // A mapping model leads past the stage, and inference may not span what it serves.
    let error = failure { _ = try path(1, 5, [mapping(2, 4)], stages: [.lightweight(to: "V3")]) }
    #expect(error == nil, "V1 to V3 spans no mapping model")
    #expect(
      try path(1, 5, [mapping(2, 4)], stages: [.lightweight(to: "V3")]) == ["V1 V3 inferred", "V3 V5 inferred"])
  }

  @Test func `a mapping model that names a version with equal hashes is used`() throws {
    let twin = try ManagedObjectModel(name: "V2 again", entities: versions[1].entities)
    let models = [versions[0], twin] + versions[2...]
    var model = MappingModel(sourceModelName: "V2 again", destinationModelName: "V3", entityMappings: [])
    model.entityMappings = [EntityMapping(name: "Notes", kind: .copy, source: "Note", destination: "Note")]
    let found = FoundMapping(model, origin: "twin", among: models)
    let steps = try MigrationPathFinder(models: models, mappings: [found]).path(from: versions[1], to: versions[2])
    #expect(steps.map(\.origin) == ["twin"])
    // The step is that of the versions, whatever the file calls them.
    #expect(steps[0].mappingModels.map(\.sourceModelName) == [versions[1].name])
  }

  @Test func `two mapping models of one step are both used, unless they clash`() throws {
    let steps = try MigrationPathFinder(
      models: versions, mappings: [mapping(1, 2, name: "A"), mapping(1, 2, name: "B")]
    ).path(from: versions[0], to: versions[1])
    #expect(steps[0].mappingModels.count == 2)
    #expect(try path(1, 2, [mapping(1, 2), mapping(1, 2)]).count == 1, "the same said twice")
    var other = MappingModel(sourceModelName: "V1", destinationModelName: "V2", entityMappings: [])
    other.entityMappings = [EntityMapping(name: "Notes", kind: .transform, source: "Note", destination: "Note")]
    let clash = FoundMapping(other, origin: "other.mapping.yaml", among: versions)
    let error = failure { _ = try path(1, 2, [mapping(1, 2), clash]) }
    #expect(error?.code == .configuration)
    #expect(error?.message.contains("'1-2.mapping.yaml' and 'other.mapping.yaml' both have a mapping 'Notes'") == true)
  }

  @Test func `if no path leads on, the error names the nearest candidate`() throws {
    var typed = versions
    let changed = EntityDescription(name: "Note", attributes: [AttributeDescription(name: "a1", type: .integer32)])
    typed[3] = try ManagedObjectModel(name: "V4", entities: [changed])
    typed[4] = try ManagedObjectModel(name: "V5", entities: [changed, EntityDescription(name: "Tag")])
    let finder = MigrationPathFinder(models: typed, mappings: [try mapping(1, 4)])
    let error = failure { _ = try finder.path(from: typed[1], to: typed[4]) }
    #expect(error?.code == .noPath)
    #expect(error?.message == "no path leads from 'V2' to 'V5'")
    #expect(error?.cause?.contains("the furthest version that can be reached is 'V3'") == true)
    #expect(error?.cause?.contains("'V3' to 'V4' and later ones cannot be inferred: Note.a1") == true)
    #expect(error?.cause?.contains("mapping model '1-4.mapping.yaml' is not for it") == true)
  }

  @Test func `an order of versions is proposed if it gives a path`() throws {
    func version(_ name: String, _ type: AttributeType?) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        name: name,
        entities: [
          EntityDescription(name: "Note", attributes: type.map { [AttributeDescription(name: "n", type: $0)] } ?? [])
        ])
    }
    // The attribute goes and comes again: only over the version without it.
    let models = [try version("1: new", .string), try version("2: none", nil), try version("3: old", .date)]
    let error = failure {
      _ = try MigrationPathFinder(models: models, mappings: []).path(from: models[2], to: models[0])
    }
    #expect(
      error?.remedy
        == "if '3: old' is older than '1: new', say so: `version-order: ['3: old', '2: none', '1: new']`")
    // The version between is thought to be the newest.
    let apart = [models[0], models[2], models[1]]
    let refused = failure {
      _ = try MigrationPathFinder(models: apart, mappings: []).path(from: apart[0], to: apart[1])
    }
    #expect(
      refused?.remedy?.hasSuffix(
        "; a path leads there with `version-order: ['1: new', '2: none', '3: old']`, if that is their order") == true)
    let none = failure {
      _ = try MigrationPathFinder(models: [models[0], models[2]], mappings: []).path(from: models[2], to: models[0])
    }
    #expect(none?.cause?.hasSuffix("oldest first; no order of them gives a path") == true)
    #expect(none?.remedy == "list a mapping model for this step under 'mappings'")
  }

  @Test func `without inference every step has a mapping model, or the error names the one that is missing`() throws {
    let chain = [try mapping(1, 2), try mapping(2, 5)]
    #expect(try path(1, 5, chain, infers: false) == ["V1 V2 1-2.mapping.yaml", "V2 V5 2-5.mapping.yaml"])
    // The same version needs no mapping model.
    #expect(try path(2, 2, infers: false) == ["V2 V2 inferred"])
    let cases: [(from: Int, to: Int, mappings: [FoundMapping], stages: [MigrationStage], step: String)] = [
      (1, 5, [], [], "'V1' to 'V5'"),
      (1, 5, [try mapping(1, 2), try mapping(3, 5)], [], "'V2' to 'V3'"),
      (1, 5, [try mapping(1, 2), try mapping(2, 4)], [], "'V4' to 'V5'"),
      // The shortest of what would help.
      (1, 5, [try mapping(1, 3), try mapping(2, 5), try mapping(4, 5)], [], "'V1' to 'V2'"),
      (1, 5, [try mapping(4, 5)], [.lightweight(to: "V3")], "'V1' to 'V3'"),
    ]
    for (from, to, mappings, stages, step) in cases {
      let error = failure { _ = try path(from, to, mappings, stages: stages, infers: false) }
      #expect(error?.code == .noPath)
      #expect(error?.message == "no mapping model leads from \(step), and no step is inferred")
      #expect(error?.remedy?.hasPrefix("write the mapping model: `godwit mapping new` drafts one") == true)
    }
  }

  @Test func `an order that leaves a stage out, or contradicts the numbers in the names, is not proposed`() throws {
    func version(_ name: String, _ type: AttributeType) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        name: name, entities: [EntityDescription(name: "Note", attributes: [.init(name: "n", type: type)])])
    }
    // The first and the last are alike; no step leads to the one between.
    func error(_ names: [String], stages: [MigrationStage] = []) throws -> GodwitError? {
      let models = [
        try version(names[0], .string), try version(names[1], .date),
        try ManagedObjectModel(
          name: names[2],
          entities: [
            EntityDescription(
              name: "Note", attributes: [.init(name: "n", type: .string), .init(name: "m", type: .string)])
          ]),
      ]
      // A mapping model that inference may not skip, and that leads nowhere from the first version.
      var mapping = MappingModel(sourceModelName: names[1], destinationModelName: names[2], entityMappings: [])
      mapping.entityMappings = [EntityMapping(name: "Notes", kind: .transform, source: "Note", destination: "Note")]
      let found = stages.isEmpty ? [FoundMapping(mapping, origin: "m", among: models)] : []
      return failure {
        _ = try MigrationPathFinder(models: models, mappings: found, stages: stages).path(
          from: models[0], to: models[2])
      }
    }
    let numbered = try error(["App", "App 2", "App 3"])
    #expect(numbered?.code == .noPath)
    #expect(numbered?.remedy?.contains("version-order") == false)
    // The order of these cannot be known.
    let named = try error(["Old", "Middle", "New"])
    #expect(named?.remedy?.contains("`version-order: [Old, New, Middle]`") == true)
    let staged = try error(["Old", "Middle", "New"], stages: [.lightweight(to: "Middle")])
    #expect(staged?.code == .noPath)
    #expect(staged?.remedy?.contains("version-order") == false)
    // Backwards, where no mapping model leads.
    let back = failure { _ = try path(4, 2) }
    #expect(
      back?.cause?.hasSuffix("only an order against the numbers in their names, or past a stage, gives a path") == true)
    #expect(back?.remedy == "list a mapping model for this step under 'mappings'")
  }

  @Test func `a direct step reads no version between`() throws {
    let asked = Diary()
    let mapping = FoundMapping(
      origin: "m",
      fit: { source, destination in
        asked.note("\(source.name) \(destination.name)")
        return .differs("no")
      }, load: { _, _ in MappingModel(sourceModelName: nil, destinationModelName: nil, entityMappings: []) })
    var narrow = mapping
    narrow.mayStart = { $0.name == "V2" }
    narrow.mayEnd = { $0.name == "V4" }
    #expect(try path(1, 5, [narrow]) == ["V1 V5 inferred"])
    #expect(asked.all == ["V2 V4", "V1 V2"])
  }

  @Test func `a mapping model for a model outside the versions is not used`() throws {
    let unknown = try ManagedObjectModel(
      name: "of the store",
      entities: [EntityDescription(name: "Note", attributes: [AttributeDescription(name: "b", type: .string)])])
    let steps = try MigrationPathFinder(models: versions, mappings: []).path(from: unknown, to: versions[4])
    #expect(steps.map(\.isInferred) == [true])
  }
}

/// The events, in order.
private final class Diary: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []
  func note(_ line: String) { lock.withLock { lines.append(line) } }
  var all: [String] { lock.withLock { lines } }
}

struct `Stages` {
  private func job(
    _ folder: TemporaryFolder, stages: [MigrationStage], name: String = "out"
  ) throws -> MigrationJob {
    let source = folder.file("in.sqlite")
    if !FileManager.default.fileExists(atPath: source) {
      let store = try StoreBuilder(path: source, model: versions[0])
      for key in Int64(1)...9 { try store.insert("Note", key: key, attributes: ["a1": .init("n\(key)")]) }
      try store.finish()
    }
    let steps = try MigrationPathFinder(models: versions, mappings: [], stages: stages)
      .path(from: versions[0], to: versions[2])
    return MigrationJob(
      name: "staged", sourcePath: source, destinationPath: folder.file("\(name)/notes.sqlite"), first: steps[0],
      later: Array(steps.dropFirst()), chunkRows: 2)
  }

  private func fill(_ diary: Diary) -> MigrationStage.Hook {
    .init("fill a2") { context in
      diary.note("after \(context.sourceModel.name) \(context.destinationModel.name) \(context.isStoreWritable)")
      let store = try StoreConnection(path: context.storePath)
      try store.execute("UPDATE ZNOTE SET ZA2 = upper(ZA1)")
      try store.close()
    }
  }

  @Test func `hooks run around their step, and later steps see their changes`() throws {
    let folder = try TemporaryFolder()
    let diary = Diary()
    let stages: [MigrationStage] = [
      .custom(
        to: "V2", willMigrate: .init("look") { diary.note("before \($0.sourceModel.name) \($0.isStoreWritable)") },
        didMigrate: fill(diary)),
      .custom(
        to: "V3", willMigrate: .init("see") { diary.note("before \($0.sourceModel.name) \($0.isStoreWritable)") }),
    ]
    let job = try job(folder, stages: stages)
    let plan = try MigrationManager(job).plan()
    #expect(plan.steps[0].hooks == ["before: look", "after: fill a2"])
    #expect(diary.all.isEmpty, "a dry run runs no hook")
    try MigrationManager(job).run()
    #expect(diary.all == ["before V1 false", "after V1 V2 true", "before V2 true"])
    let rows = try StoreConnection.openStore(readingAt: job.destinationPath)
      .rows("SELECT ZA2 FROM source.ZNOTE WHERE Z_PK = 9")
    #expect(rows == [[.text(Array("N9".utf8))]])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(report.checks.contains { $0.name.hasPrefix("not proved: steps whose store a hook changed") })
  }

  @Test func `a hook of a single step works on the store before it is put in place`() throws {
    let folder = try TemporaryFolder()
    let diary = Diary()
    var job = try job(folder, stages: [])
    job.steps = [
      MigrationStep(
        sourceModel: versions[0], destinationModel: versions[1],
        mappingModels: [try MappingModel(inferredFrom: versions[0], to: versions[1])])
    ]
    job.steps[0].didMigrate = .init("fails") { context in
      diary.note("ran")
      #expect(!FileManager.default.fileExists(atPath: folder.file("out/notes.sqlite")))
      throw GodwitError(.inputOutput, "no")
    }
    let error = failure { try MigrationManager(job).run() }
    #expect(error?.code == .inputOutput)
    #expect(error?.context == "step 1 of 1")
    #expect(try MigrationManager(job).status().state == .unfinished)
    job.steps[0].didMigrate?.body = { _ in diary.note("ran again") }
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(diary.all == ["ran", "ran again"])
  }

  @Test func `a changed hook makes it another job`() throws {
    let folder = try TemporaryFolder()
    let diary = Diary()
    let first = try job(folder, stages: [.custom(to: "V2", didMigrate: fill(diary))])
    let control = MigrationControl()
    _ = try MigrationManager(first).run(control: control) { if $0.rows > 0 { control.stop(reason: "test") } }
    var other = fill(diary)
    other.identity = "another"
    let second = try job(folder, stages: [.custom(to: "V2", didMigrate: other)])
    #expect(failure { try MigrationManager(second).run() }?.code == .cannotCreate)
    #expect(try MigrationManager(first).run().outcome == .finished)
  }
}
