import Foundation
package import GodwitJob
package import GodwitModel
package import GodwitStore

/// The running policies of a step. The parts below answer the requests of hooks.
///
/// 1. Made when a run begins; the state is the ledger's.
/// 2. `call` runs one hook with a `PolicyContext` that leads here.
/// 3. `finishChunk` writes the state; `rollBack` goes back to it when a chunk that failed runs again.
///
/// | part | purpose |
/// |---|---|
/// | `PolicyRunState` | the step's program and stores, and the statements of the chunk |
/// | `PolicyMemory` | the state and the user info, from the ledger and back |
/// | `PolicySourceReader` | reads the source objects, page by page |
/// | `RunningHook` | the running hook and its actions so far |
/// | `PolicyObjectWriter` | writes objects |
/// | `PolicyAssociations`, `PolicyAssignments` | the tables of associations and of assignments to relationships |
/// | `PolicyShortcuts` | links and associations for which policies follow their mappings |
/// | `PolicyLosses` | the losses of the chunk |
package final class PolicyRun: PolicyHost {
  package var sourceModel: ManagedObjectModel { program.resolved.sourceModel }
  package var destinationModel: ManagedObjectModel { program.resolved.destinationModel }
  package var mappingIDs: [MappingID] { program.mappings.ids }
  package var sourceContext: ObjectContext { step.sourceContext }
  package var userInfo: [String: PropertyListValue] { memory.userInfo }

  let step: PolicyRunState
  let memory: PolicyMemory
  let sourceReader: PolicySourceReader
  let writer: PolicyObjectWriter
  let associations: PolicyAssociations
  let assignments: PolicyAssignments
  @exclusivity(unchecked) var hook = RunningHook()
  @exclusivity(unchecked) var shortcuts: PolicyShortcuts
  @exclusivity(unchecked) var losses = PolicyLosses()
  let instances: [any EntityMigrationPolicy]
  /// Policies without a `createRelationships` of their own, as far as known.
  @exclusivity(unchecked) var withDefaultRelationships: Set<Int> = []
  /// Expressions that name objects, by mapping and relationship.
  var compiledExpressions: [String: [String: CompiledExpression]] = [:]
  /// Repeats the part of the relationship stage that was left out for a link that was written with its objects.
  var relateAgain: (LinkID) throws -> Void = { _ in }
  /// Policies whose `begin` this process has run.
  private var begun: Set<Int> = []
  /// Policies that an earlier process began.
  private var resumed: Set<Int> = []
  /// Whether `begin` runs again. Its output already exists then.
  @exclusivity(unchecked) private(set) var isReplaying = false

  var program: StepProgram { step.program }
  var state: PolicyState {
    _read { yield memory.state }
    _modify { yield &memory.state }
  }

  package init(
    job: MigrationJob, program: StepProgram, connection: StoreConnection, functions: SQLFunctions, ledger: Ledger,
    folder: StepFolder
  ) throws {
    step = PolicyRunState(job: job, program: program, connection: connection, functions: functions, folder: folder)
    memory = try PolicyMemory(ledger: ledger, nextKeys: program.facts.freeKeys ?? [:], userInfo: job.userInfo)
    sourceReader = PolicySourceReader(step: step)
    writer = PolicyObjectWriter(step)
    associations = PolicyAssociations(step)
    assignments = PolicyAssignments(step, associations)
    shortcuts = PolicyShortcuts(program)
    instances = program.resolved.policies.map { $0.make() }
    adoptShortcuts()
    step.destinationContext.willRead = { [unowned writer] in try writer.flush() }
  }

  /// Takes over from the state which links are written with their objects and which associations are computed.
  private func adoptShortcuts() {
    shortcuts.adopt(state)
    shortcutsHaveChanged()
  }

  func setShortcuts(inlineLinks: Set<LinkID>, computedAssociations: Set<MappingID>) {
    shortcuts.set(inlineLinks: inlineLinks, computedAssociations: computedAssociations)
    shortcutsHaveChanged()
  }

  private func shortcutsHaveChanged() {
    (state.inlineLinks, state.computedAssociations) = (shortcuts.inlineLinks, shortcuts.computedAssociations)
    assignments.forgetRequests()
    associations.forgetLookups()
  }

  package var isResuming: Bool { resumed.contains(step.current) }

  // MARK: Hooks

  /// Makes the policy ready for one of its chunks. In a resumed run its `begin` runs first.
  func prepare(_ policy: Int, for kind: PolicyHook) throws {
    step.setCurrent(policy)
    guard !begun.contains(policy) else { return }
    guard kind != .begin, let keys = state.keysAtBegin[policy] else {
      begun.insert(policy)
      return
    }
    resumed.insert(policy)
    let kept = state
    state.nextKeys = keys
    isReplaying = true
    defer {
      isReplaying = false
      // Assignments that were recorded because a hook read them stay recorded.
      let now = state
      state = kept
      (state.inlineLinks, state.computedAssociations) = (now.inlineLinks, now.computedAssociations)
      state.sequence = max(now.sequence, kept.sequence)
      writer.rollBack()
      hook.related = nil
    }
    let (instance, mapping) = (instances[policy], step.mappings[policy])
    try call(.begin, of: policy, on: nil) { try instance.begin(mapping, with: &$0) }
    begun.insert(policy)
  }

  /// - Parameter body: The call of the hook.
  func call(
    _ kind: PolicyHook, of policy: Int, on object: ManagedObject?, _ body: (inout PolicyContext) throws -> Void
  ) throws {
    step.setCurrent(policy)
    hook.begin(kind, on: object)
    losses.beginHook()
    if kind == .begin, !isReplaying { state.keysAtBegin[policy] = state.nextKeys }
    var context = PolicyContext(self)
    do {
      try body(&context)
      try step.checkChunk()
      if let problem = hook.problem { throw problem }
      if !hook.keyColumns.isEmpty { try writeKeys() }
      if kind == .createDestinationInstances { try checkDefaultPair() }
      if !hook.unproved.isEmpty { try prove() }
    } catch {
      // A row that was buffered earlier has failed, so this hook and its object are not the cause.
      throw step.chunkFailure ?? wrapped(error, object)
    }
  }

  /// Called at the end of a hook: the objects that it associated or linked must be in the store.
  private func prove() throws {
    for object in hook.unproved.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) })
    where try destinationObject(object.entity, key: object.key) == nil {
      throw GodwitError(
        .dataWrong, "\(object.entity) p\(object.key) was associated but never inserted",
        remedy: "call 'insert' in the policy")
    }
  }

  /// Records an error that a subscript could not throw.
  package func note(_ error: any Error) { hook.note(error) }

  /// An error of a policy's own, with hook and object; a `GodwitError` is unchanged.
  private func wrapped(_ error: any Error, _ object: ManagedObject?) -> any Error {
    let policy = program.resolved.policies[step.current]
    let place = "policy '\(policy.name)' failed in \(hook.kind.name)\(object.map { " for \($0)" } ?? "")"
    if var known = error as? GodwitError {
      known.cause = known.cause ?? place
      return known
    }
    if error is SpillError { return error }
    let text = (error as? any LocalizedError)?.errorDescription ?? "\(error)"
    return GodwitError(
      .dataWrong, "\(place): \(text)",
      remedy:
        "repair the source and run the same command, or correct the policy, `godwit discard` the job and run again")
  }

  package func setUserInfo(_ value: [String: PropertyListValue]) {
    if !isReplaying { memory.setUserInfo(value) }
  }

  // MARK: Chunks

  /// Writes the state and the buffers. Call inside the chunk's transaction.
  func finishChunk() throws {
    try memory.keepUserInfo()
    try writeAsked()
    try associations.finishChunk()
    try assignments.finishChunk()
    shortcuts.store(in: &memory.state)
    try step.checkChunk()
    try memory.write()
    hook.endPage()
    step.finishChunk()
    try writer.endStatements()
  }

  /// Restores the state after the last committed chunk, so that a failed chunk can run again.
  func rollBack() throws {
    associations.rollBack()
    assignments.rollBack()
    hook.rollBack()
    _ = losses.take()
    writer.rollBack()
    step.rollBack()
    try memory.rollBack()
    adoptShortcuts()
  }
}
