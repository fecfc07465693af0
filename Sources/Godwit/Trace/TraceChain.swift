import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

/// The stores before and after each step of a job, with a tracer for each step.
final class TraceChain {
  typealias Reference = ObjectReader.Reference

  /// The job as it was given, and with its missing policies.
  private let traced, job: MigrationJob
  private let steps: [MigrationJob]
  /// The version before each step, with the links that become objects.
  private let models: [ManagedObjectModel]
  /// One more than steps.
  private var paths: [String]
  private var readers: [Int: ObjectReader] = [:]
  private var tracers: [StepID: ObjectTracer] = [:]
  private var scratch: ScratchFolder?
  /// The source that the run read.
  let source: RunSource
  /// The value of `now()` in every step.
  let moment: JobClock

  private let leavesLargeValues: Bool
  /// How the keys of a merged source are numbered; nil for a source that is one store.
  private let merged: MergeRecord?

  /// - Throws: `.usage` (64) for a job that appends or migrates in place; `.missingInput` (66) without a finished
  ///   destination.
  init(_ traced: MigrationJob, merged: MergeRecord?, leavesLargeValues: Bool) throws {
    try Self.check(traced)
    self.merged = merged
    self.leavesLargeValues = leavesLargeValues
    // The name of an unregistered policy is enough to say that it decides.
    var job = traced
    for use in job.missingPolicies { job.policies.register(use.policy, PlannedPolicy()) }
    (self.traced, self.job) = (traced, job)
    let source = try RunSource(job)
    self.source = source
    moment = try JobClock(of: job) {
      let resolved = traced.resolvingLinks().fusingSteps()
      return try JobFingerprint(resolved).withContent(of: resolved.sourceFiles()).digest
    }
    if job.isStepped {
      for step in job.steps where step.willMigrate != nil || step.didMigrate != nil {
        throw GodwitError(
          .usage, "cannot trace objects of job '\(job.name)': a hook may have changed the stores between its steps",
          remedy: "this version traces jobs of several steps without `stages`")
      }
      let scratch = try ScratchFolder()
      self.scratch = scratch
      let between = (1..<job.steps.count).map { "\(scratch.path)/step-\($0).sqlite" }
      paths = [job.sourcePath] + between + [job.destinationPath]
      steps = try job.steps.ids.map { [paths, moment] in
        var step = try job.step($0, source: $0 == .first ? source.keptPath : paths[$0.number])
        step.now = Date(timeIntervalSinceReferenceDate: moment.now)
        step.destinationType = .sqlite
        step.destinationPath = paths[$0.count]
        return step
      }
    } else {
      paths = [job.sourcePath, job.destinationPath]
      var step = job
      step.sourcePath = source.keptPath
      steps = [step]
    }
    models = try steps.map { try $0.loweringPairs().sourceModel }
  }

  /// Refuses a job whose objects cannot be traced.
  private static func check(_ job: MigrationJob) throws {
    func cannot(_ why: String, _ remedy: String, _ code: GodwitError.Code = .usage) -> GodwitError {
      GodwitError(code, "cannot trace objects of job '\(job.name)': \(why)", remedy: remedy)
    }
    if job.isInPlace {
      throw cannot(
        "it migrates in place",
        "with `keep-old: true`, set the source to the old store and the destination to the new one: --source 'NAME~.sqlite' --destination 'NAME.sqlite'"
      )
    }
    if job.appends { throw cannot("it appends to a store", "this version traces jobs that make a new store") }
    try StoreFiles.refuseImpossible(job.destinationPath)
    guard try !WorkFolder.exists(job.workPath) else {
      throw cannot(
        "it is unfinished, '\(job.workPath)' exists", "run the job to its end with `godwit run`", .missingInput)
    }
    guard try WorkFolder.exists(job.destinationPath) else {
      throw cannot(
        "'\(job.destinationPath)' does not exist", "run the job with `godwit run` first", .missingInput)
    }
  }

  private func model(_ place: Int) -> ManagedObjectModel {
    place < steps.count ? models[place] : steps[place - 1].destinationModel
  }

  /// The store before step `place`, from 0; after the last one the destination.
  private func reader(_ place: Int) throws -> ObjectReader {
    if let known = readers[place] { return known }
    try make(place)
    let reader = try ObjectReader(
      path: paths[place], model: model(place), purpose: place == steps.count ? .comparison : .source)
    if place == 0 { reader.support = job.sourceSupport }
    reader.leavesLargeValues = leavesLargeValues
    readers[place] = reader
    return reader
  }

  func bytes(of value: ObjectTrace.LargeValue) throws -> StoredBytes {
    try reader(value.place).bytes(of: value.content)
  }

  private func tracer(_ step: StepID) throws -> ObjectTracer {
    if let known = tracers[step] { return known }
    try make(step.number)
    let tracer = try ObjectTracer(steps[step.number], now: moment.now, files: step == .first ? job.sourceSupport : nil)
    tracers[step] = tracer
    return tracer
  }

  /// Makes the stores between steps again, up to one.
  private func make(_ place: Int) throws {
    guard place > 0, place < steps.count else { return }
    for step in 0..<place where !FileManager.default.fileExists(atPath: paths[step + 1]) {
      try MigrationManager(steps[step]).run()
    }
  }

  // MARK: The object that is asked for

  /// The trace of the object that a URI names.
  ///
  /// - Parameter side: Which store the object is in; nil for the one that the URI names.
  func trace(_ uri: String, in side: ObjectTrace.Side?) throws -> ObjectTrace {
    let (side, reference) = try find(ObjectAddress(parsing: uri), in: side)
    var trace = try trace(reference, from: side)
    trace.remarks += try origins(in: trace)
    if !moment.isKnown, job.callsNow {
      trace.remarks.append(
        "the destination does not say what now() was: what depends on it is that of the time of its last change")
    }
    let old = MigrationJob.oldPath(of: job.destinationPath)
    let isOld = URL(filePath: old).standardizedFileURL == URL(filePath: job.sourcePath).standardizedFileURL
    if try !isOld && Definite.answer(DestinationLook(traced).isFinished) != true {
      trace.remarks.append(
        "the destination does not name this job: another job made it, or the source, a model or a mapping changed since"
      )
    }
    return trace
  }

  private func find(_ address: ObjectAddress, in wanted: ObjectTrace.Side?) throws -> (ObjectTrace.Side, Reference) {
    if let found = try findInPart(address, in: wanted) { return (.source, found) }
    var sides: [ObjectTrace.Side] = wanted.map { [$0] } ?? [.destination, .source]
    let (source, destination) = (try reader(0).storeUUID, try reader(steps.count).storeUUID)
    if let uuid = address.storeUUID {
      sides.removeAll { uuid.uppercased() != ($0 == .source ? source : destination).uppercased() }
      guard !sides.isEmpty else {
        throw GodwitError(
          .usage, "cannot trace '\(address.text)': it names another store",
          cause: "the source is \(source), the destination \(destination)",
          remedy: "give the URI of an object of either store, or Entity/p1 with --side source or --side destination")
      }
    }
    var found: [(side: ObjectTrace.Side, reference: Reference)] = []
    for side in sides {
      let place = side == .source ? 0 : steps.count
      guard model(place).entity(address.entityName) != nil else { continue }
      let reference = try reader(place).reference(entity: address.entityName, number: address.key)
      if let reference { found.append((side, reference)) }
    }
    // An object of the very entity before one of a subentity: `Person/p1` of the source may be `Child/p1` now.
    if let best = found.first(where: { $0.reference.entity == address.entityName }) ?? found.first { return best }
    let stores = sides.map { "'\($0 == .source ? job.sourceName : job.destinationPath)'" }.joined(separator: " and ")
    throw GodwitError(
      .missingInput, "cannot trace '\(address.text)': there is no such object in \(stores)",
      remedy: "`godwit export STORE --entity NAME` lists the objects of an entity with their URIs")
  }

  // MARK: Parts of a merged source

  /// The object that the URI of a part names; nil for any other URI.
  private func findInPart(_ address: ObjectAddress, in wanted: ObjectTrace.Side?) throws -> Reference? {
    guard wanted != .destination, let uuid = address.storeUUID?.uppercased() else { return nil }
    let parts = merged?.parts.filter { $0.uuid.uppercased() == uuid } ?? []
    for part in parts {
      guard let keys = part.keys[root(of: address.entityName)], (keys.first...keys.last).contains(address.key) else {
        continue
      }
      let found = try reader(0).reference(entity: address.entityName, number: address.key + keys.offset)
      if let found { return found }
    }
    guard let part = parts.first else { return nil }
    throw GodwitError(
      .missingInput, "cannot trace '\(address.text)': there is no such object in '\(part.path)'",
      remedy: "`godwit export STORE --entity NAME` lists the objects of an entity with their URIs")
  }

  private func root(of entity: String) -> String { model(0).root(of: entity)?.name ?? entity }

  /// Which stores the source objects of a trace are from, in sentences.
  private func origins(in trace: ObjectTrace) throws -> [String] {
    guard let merged else { return [] }
    var objects = trace.side == .source ? [(trace.object.entityName, trace.object.key)] : []
    for association in trace.associations where association.step == 1 {
      objects.append((association.source.entityName, association.source.key))
      objects += try association.merged.map { try ObjectAddress(parsing: $0) }.map { ($0.entityName, $0.key) }
    }
    var seen: Set<String> = []
    return objects.compactMap { entity, key in
      merged.origin(of: root(of: entity), key: key).map {
        "\(entity)/p\(key) of the source is \(entity)/p\($0.key) of '\($0.part.path)'"
      }
    }.filter { seen.insert($0).inserted }
  }

  private func object(_ reference: Reference, _ place: Int) throws -> ObjectTrace.Object? {
    let reader = try reader(place)
    guard let found = try reader.object(reference) else { return nil }
    func uri(_ reference: Reference) -> String { self.uri(reference, place, reader) }
    var object = ObjectTrace.Object(
      uri: uri(found.reference), entityName: found.reference.entity, key: reader.number(of: found.reference),
      attributes: [:],
      relationships: [:])
    for (name, value) in found.properties {
      switch value {
      case .attribute(let value, _): object.attributes[name] = value
      case .large(let value, _): object.largeValues[name] = .init(place: place, content: value)
      case .missingFile: continue
      case .toOne(let reference): object.relationships[name] = reference.map { [uri($0)] } ?? []
      case .toMany(let references): object.relationships[name] = references.map(uri)
      }
    }
    return object
  }

  private func uri(_ reference: Reference, _ place: Int, _ reader: ObjectReader) -> String {
    place == 0 || place == steps.count
      ? reader.uri(of: reference) : "\(reference.entity)/p\(reference.key)"
  }

  // MARK: Through the steps

  private func trace(_ reference: Reference, from side: ObjectTrace.Side) throws -> ObjectTrace {
    let isForwards = side == .source
    // A quarantined object may hold an unreadable value: that may be the reason.
    let isHeld = try isForwards && !source.reasons(for: reference).isEmpty
    let store = try self.reader(isForwards ? 0 : steps.count)
    store.leavesOutUnreadable = isHeld
    defer { store.leavesOutUnreadable = false }
    guard let object = try object(reference, isForwards ? 0 : steps.count) else {
      throw GodwitError(.missingInput, "cannot trace '\(reference.entity)/p\(reference.key)': it is not in the store")
    }
    var trace = ObjectTrace(side: side, object: object)
    var frontier = [reference]
    let ids = steps.indices.map { StepID($0) }
    for step in isForwards ? ids : ids.reversed() {
      var next: [Reference] = []
      for reference in frontier {
        if isForwards, step == .first, let gap = try heldGap(reference) {
          trace.gaps.append(gap)
          continue
        }
        let tracer = try tracer(step)
        let results = try isForwards ? tracer.results(of: reference) : tracer.origins(of: reference)
        let (made, refused) = (results.made, results.refused)
        for found in made {
          trace.associations.append(try association(found, step))
          next += isForwards ? [found.destination] : (found.ends.isEmpty ? [found.source] : found.ends) + found.merged
        }
        if results.linksLeftOut > 0 {
          trace.remarks.append(
            "\(results.linksLeftOut.counted("link")) of \(reference.entity)/p\(reference.key) \(results.linksLeftOut == 1 ? "is" : "are") not listed"
          )
        }
        let place = isForwards ? step.number : step.count
        // A mapping without a policy explains the object.
        guard isForwards || made.isEmpty else { continue }
        let uri = uri(reference, place, try reader(place))
        trace.gaps += refused.map { gap($0, step, uri, isForwards) }
        if made.isEmpty, refused.isEmpty { trace.gaps.append(gap(step, uri, reference.entity, isForwards)) }
      }
      var seen: Set<Reference> = []
      frontier = next.filter { seen.insert($0).inserted }
    }
    return trace
  }

  private func association(_ found: ObjectTracer.Association, _ step: StepID) throws -> ObjectTrace.Association {
    let place = step.number
    guard let source = try object(found.source, place) else {
      throw GodwitError(.internalBug, "cannot read p\(found.source.key) of '\(paths[place])' again")
    }
    let (before, after) = (try reader(place), try reader(place + 1))
    var destination = try object(found.destination, place + 1)
    if destination?.entityName != found.destination.entity { destination = nil }
    let mapping = found.mapping
    var origins: [String: String] = [:]
    for (attribute, source) in mapping.attributes { origins[attribute.name] = Self.text(source) }
    for relationship in mapping.relationships { origins[relationship.relationship.name] = relationship.text }
    return ObjectTrace.Association(
      step: step.count, sourceModel: model(place).name, destinationModel: model(place + 1).name, mapping: mapping.name,
      pass: found.chunk?.pass ?? 0, chunk: found.chunk?.number ?? 0, chunks: found.chunk?.count ?? 0,
      range: found.chunk?.range ?? "", source: source, merged: found.merged.map { uri($0, place, before) },
      destination: destination, destinationURI: uri(found.destination, place + 1, after), origins: origins)
  }

  /// The end of the trace of an object in quarantine; nil for any other.
  private func heldGap(_ reference: Reference) throws -> ObjectTrace.Gap? {
    let reasons = try source.reasons(for: reference)
    guard let first = reasons.first else { return nil }
    let more = reasons.count > 1 ? ", and \(reasons.count - 1) more" : ""
    let property = first.property.map { " '\($0)'" } ?? ""
    return ObjectTrace.Gap(
      step: 1, uri: uri(reference, 0, try reader(0)), reason: .quarantined, mapping: first.mapping,
      message:
        "mapping '\(first.mapping)' could not carry it\(property.isEmpty ? "" : ", for\(property)"): \(first.message)\(more); it is in the quarantine '\(job.quarantinePath)'"
    )
  }

  private static func text(_ source: ResolvedEntityMapping.AttributeSource) -> String {
    switch source {
    case .copy(let name): "$source.\(name)"
    case .expression(let parsed): parsed.source.text
    case .modelDefault: "the model's default"
    case .defaultForNil(let source): text(source) + ", or the model's default for nil"
    }
  }

  private func gap(
    _ refusal: ObjectTracer.Refusal, _ step: StepID, _ uri: String, _ isForwards: Bool
  ) -> ObjectTrace.Gap {
    switch refusal {
    case .filter(let mapping):
      ObjectTrace.Gap(
        step: step.count, uri: uri, reason: .filter, mapping: mapping.name,
        message: "mapping '\(mapping.name)' does not take it: its filter is \(mapping.filter?.source.text ?? "")")
    case .policy(let mapping, let policy):
      ObjectTrace.Gap(
        step: step.count, uri: uri, reason: .policy, mapping: mapping.name,
        message: isForwards
          ? "mapping '\(mapping.name)' takes it: what the policy '\(policy)' made of it is not recorded"
          : "mapping '\(mapping.name)' may have made it: of what, the policy '\(policy)' alone knows")
    }
  }

  private func gap(_ step: StepID, _ uri: String, _ entity: String, _ isForwards: Bool) -> ObjectTrace.Gap {
    isForwards
      ? ObjectTrace.Gap(
        step: step.count, uri: uri, reason: .noMapping, message: "no mapping takes objects of \(entity): it is dropped")
      : ObjectTrace.Gap(
        step: step.count, uri: uri, reason: .unexplained,
        message: "no mapping makes it: the application, or a policy that makes new objects, or another job did")
  }
}
