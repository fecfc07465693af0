import GodwitJob
import GodwitModel

/// The shortcuts that hold while policies follow their mappings: links that are written with their objects, and
/// associations that are computed.
///
/// Without them the benchmark `policy` takes three times as long.
struct PolicyShortcuts {
  /// The program as it stands: with the links that are written with their objects and the associations that are computed.
  private(set) var program: StepProgram
  /// Links that are written with their objects since no policy has set them.
  private(set) var inlineLinks: Set<LinkID> = []
  /// Mappings whose associations are computed because their policy has made the same objects as the mapping alone
  /// would.
  private(set) var computedAssociations: Set<MappingID> = []
  /// The inline links of each mapping, and whether a mapping sets no other relationships.
  private(set) var linksOfMapping: [Set<LinkID>] = []
  private(set) var isAllInline: [Bool] = []
  /// Whether a mapping is among `computedAssociations`, and whether it has links that are written with objects. Both
  /// are read for every object.
  private(set) var isComputed: [Bool] = []
  private(set) var hasInlineLinks: [Bool] = []
  /// Counts the changes of these.
  private(set) var generation = 0
  /// The keys up to which associations are computed, by mapping: those of the state with the running chunk's.
  var computedThrough: [Int64?] = []
  var leftToMapping: [PolicyState.Place?] = []

  init(_ program: StepProgram) { self.program = program }

  /// Restores the shortcuts of the state. Before a policy's first chunk, all shortcuts that the program allows hold.
  mutating func adopt(_ state: PolicyState) {
    computedThrough = program.mappings.ids.map { state.computedThrough[$0] }
    leftToMapping = program.mappings.ids.map { state.leftToMapping[$0] }
    let isAllowed = EngineTuning.current.usesShortcuts
    set(
      inlineLinks: isAllowed ? state.inlineLinks ?? program.inlineLinkCandidates : [],
      computedAssociations: isAllowed ? state.computedAssociations ?? program.computedMappingCandidates : [])
  }

  mutating func set(inlineLinks: Set<LinkID>, computedAssociations: Set<MappingID>) {
    generation += 1
    (self.inlineLinks, self.computedAssociations) = (inlineLinks, computedAssociations)
    (program.inlineLinks, program.computedAssociations) = (inlineLinks, computedAssociations)
    linksOfMapping = program.mappings.ids.map { program.inlineLinks(of: $0) }
    isComputed = program.mappings.ids.map(computedAssociations.contains)
    hasInlineLinks = linksOfMapping.map { !$0.isEmpty }
    isAllInline = zip(program.mappings, linksOfMapping).map { !$1.isEmpty && $0.relationships.count == $1.count }
  }

  /// Puts them into the state that the ledger keeps.
  func store(in state: inout PolicyState) {
    for (index, key) in computedThrough.enumerated() { state.computedThrough[MappingID(index)] = key }
    for (index, place) in leftToMapping.enumerated() { state.leftToMapping[MappingID(index)] = place }
  }
}
