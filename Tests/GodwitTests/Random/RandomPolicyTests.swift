import Foundation
import Godwit
import GodwitJob
import GodwitModel
import TestSupport
import Testing

/// Random policies give the same store by shortcuts and without, with objects written together and one by one, with
/// pages read ahead and not.
@Suite struct RandomPolicyTests {
  /// A random policy that decides by an object's key, mostly for the default.
  private static func random(_ seed: UInt64) -> ClosurePolicy {
    @Sendable func choice(_ key: Int64, _ hook: UInt64, _ limit: Int) -> Int {
      var random = SeededGenerator(seed: seed &* 1000 &+ hook &+ UInt64(bitPattern: key) &* 31)
      return random.below(limit)
    }
    @Sendable func setSomething(
      _ object: ManagedObject, _ manager: inout PolicyContext, _ salt: UInt64
    ) throws {
      let relationships = manager.destinationModel.relationships(of: object.entityName)
      guard !relationships.isEmpty else { return }
      let relationship = relationships[choice(object.key, 70 + salt, relationships.count)]
      let targets = try manager.destinationInstances(ofEntityNamed: relationship.destinationEntityName, limit: 3)
      guard !targets.isEmpty else { return }
      let target = targets[choice(object.key, 80 + salt, targets.count)]
      switch choice(object.key, 90 + salt, 4) {
      case 0: _ = try object.objects(relationship.name)
      case 1 where relationship.isToMany: try manager.add(target, toRelationship: relationship.name, of: object)
      case 2: try manager.setRelationship(relationship.name, of: object, to: nil)
      default: try manager.setRelationship(relationship.name, of: object, to: [target])
      }
    }
    // Reads and changes what waits to be written.
    @Sendable func lookAround(_ object: inout ManagedObject, _ manager: inout PolicyContext, _ what: Int) throws {
      let attributes = manager.destinationModel.attributes(of: object.entityName)
      guard let attribute = attributes.first(where: { $0.type == .string && $0.isOptional && !$0.isDerived }) else {
        return
      }
      switch what {
      case 6, 7:
        object[attribute.name] = what == 6 ? .null : AttributeValue("changed \(object.key)")
        try what == 6 ? manager.save(object) : manager.insert(object)
      case 8:
        let (name, value) = (object.entityName, object[attribute.name])
        let count = try manager.destinationInstances(ofEntityNamed: name, limit: 200).count
        let same = try manager.destinationInstance(ofEntityNamed: name, where: attribute.name, equals: value)
        object[attribute.name] = AttributeValue("\(count) objects, \(same?.key ?? 0)")
        try manager.save(object)
      default: break
      }
    }
    var policy = ClosurePolicy()
    // Some policies change nothing at all in a hook, so that links stay written with their objects for long.
    let (create, relate, end) = (choice(1, 1, 3), choice(2, 2, 3), choice(3, 3, 4))
    policy.create = { source, mapping, manager in
      let what = create == 0 ? choice(source.key, 4, 40) : 99
      if what == 0 { return }
      var object = try manager.createDestinationInstance(forSource: source, in: mapping)
      if what == 1 { manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping) }
      try manager.insert(object)
      if what == 2 { return }
      if what == 3, let other = try manager.destinationInstances(ofEntityNamed: object.entityName, limit: 1).first {
        manager.associate(sourceInstance: source, withDestinationInstance: other, for: mapping)
      }
      manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
      if what == 4 {
        let second = try manager.createInstance(ofEntityNamed: object.entityName)
        try manager.insert(second)
        manager.associate(sourceInstance: source, withDestinationInstance: second, for: mapping)
      }
      if what == 5 { try setSomething(object, &manager, 1) }
      if what > 5 { try lookAround(&object, &manager, what) }
    }
    policy.relate = { object, mapping, manager in
      let what = relate == 0 ? choice(object.key, 5, 30) : 99
      if what == 0 { return }
      if what == 1 { try setSomething(object, &manager, 2) }
      try manager.createRelationships(forDestination: object, in: mapping)
      if what == 2 { try setSomething(object, &manager, 3) }
      if what == 3 { try manager.createRelationships(forDestination: object, in: mapping) }
    }
    policy.endRelate = { mapping, manager in
      guard end == 0, let entity = mapping.destinationEntityName,
        let object = try manager.destinationInstances(ofEntityNamed: entity, limit: 1).first,
        try !manager.sourceInstances(forEntityMappingNamed: mapping.name, destinationInstances: [object]).isEmpty
      else { return }
      try setSomething(object, &manager, 4)
    }
    return policy
  }

  @Test(arguments: testSeeds(3)) func `random policies on random models give the same store both ways`(seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: 81_000 + seed)
    let world = try RandomWorld(&random)
    let chosen = world.mappings.indices.filter { world.mappings[$0].uniqueBy.isEmpty && random.chance(40) }
    let rows = [1, 3, 1000][random.below(3)]
    let source = try MigrationFixture(world.source, to: world.destination)
    try world.write(to: source)
    var contents: [[String]] = []
    for direct in [true, false] {
      let fixture = try MigrationFixture(world.source, to: world.destination)
      try FileManager.default.copyItem(atPath: source.sourcePath, toPath: fixture.sourcePath)
      fixture.mappings = world.mappings
      fixture.chunkRows = rows
      for index in chosen { fixture.mappings[index].policyName = "Random" }
      do {
        try EngineTuning.with(\.usesShortcuts, direct) {
          // Objects wait for others, or are written one by one.
          try EngineTuning.with(\.policyRowsPerBatch, direct ? 3 + Int(seed % 2) * 100 : 0) {
            try EngineTuning.with(\.pages.rowsPerPage, direct ? 2 : 500) {
              try EngineTuning.with(\.pages.leastRows, direct ? 1 : .max) {
                let job = try fixture.job(["Random": { Self.random(seed) }])
                // Stopped now and then, so that what is kept of links is read back.
                let seconds: Double? = direct && seed % 3 == 0 ? 0 : nil
                while try MigrationManager(job).run(maximumSeconds: seconds).outcome != .finished {}
              }
            }
          }
        }
        contents.append(try fixture.content())
      } catch let error as GodwitError where error.code != .internalBug { contents.append([error.message]) }
    }
    let difference = zip(contents[0], contents[1]).first { $0 != $1 }
    #expect(
      contents[0] == contents[1],
      "seed \(seed): direct \(difference?.0 ?? ""), resolved \(difference?.1 ?? "")\n\(world.description)")
  }
}
