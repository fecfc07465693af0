import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// The parts of all statements of a step.
struct StepProgramTests {
  @Test func `only links that displace each other and unique-by have tables beside the store`() throws {
    let program = try StatementWorld.program()
    let link = try program.link("Person", "spouse")
    #expect(
      program.scratchStatements.compactMap { $0.split(separator: " ").dropFirst(2).first } == [
        "godwit_unique_2", "godwit_identity_2", "godwit_link_\(link)",
      ])
  }

  @Test func `the chunks of a plan fit its program`() throws {
    let (program, plan) = try StatementWorld.fixture().planned()
    #expect(Set(plan.chunks.map(\.phase)).count > 7)
    try program.check(plan.chunks)
  }

  @Test(
    arguments: [
      .associate(mapping: 3), .create(mapping: -1, predicate: nil), .relate(link: 99, scan: 0),
      .relate(link: 0, scan: 99),
      .callHook(.begin, policy: 0), .prepareResolving(link: 99), .resolve(link: -1), .buildIndex(99), .order(rule: 1),
      .derive(rule: 1), .validate(mapping: 3), .validateEntity(number: 99), .buildUniqueIndex(-1),
    ] as [ChunkWork])
  func `a chunk of what the program lacks is refused`(work: ChunkWork) throws {
    let chunk = Chunk(id: 4, pass: 0, work: work, name: "A", range: .all, rows: 1)
    let error = try #require(throws: GodwitError.self) { try StatementWorld.program().check([chunk]) }
    #expect(error.code == .dataWrong)
    #expect(error.message.contains("chunk 4 (A)"))
  }
}
