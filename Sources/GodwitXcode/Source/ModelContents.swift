import Foundation
package import GodwitModel

/// Reads the `contents` file of a `.xcdatamodel`.
///
/// Xcode's compiler ignores unknown words, so this reader does too, and records each with its place. An unknown value
/// that the version hash does not contain is read as Core Data's default. Any other unknown value, and an unknown
/// element in a property, are errors: they could be data lost in a migration. Flags that only concern Xcode are known
/// and dropped.
package struct ModelContents {
  let file: String
  let modelName: String
  /// Whether elements know their line in the file; those made of an archive do not.
  var hasLines = true
  let remarks = Remarks()

  /// The replacements and omissions so far.
  final class Remarks {
    var list: [ModelRemark] = []
    private var ignored: [String: (index: Int, count: Int)] = [:]

    /// Notes a word that is not known: its first place, and how often it occurs.
    ///
    /// - Parameter done: The rest of the sentence: how the word is read.
    func ignore(_ word: String, _ phrase: String, _ location: GodwitError.Location?, done: String = "is ignored") {
      guard let (index, count) = ignored[word] else {
        ignored[word] = (list.count, 1)
        list.append(ModelRemark("\(phrase) \(done)", location: location, ignoredWord: word))
        return
      }
      ignored[word] = (index, count + 1)
      list[index].text = "\(phrase) \(done), here and in \(count) other place\(count == 1 ? "" : "s")"
    }
  }

  /// - Throws: code `.missingInput` with file, line and column.
  package static func read(_ bytes: [UInt8], file: String, modelName: String) throws -> ManagedObjectModel {
    let root = try MarkupReader.read(bytes, file: file)
    return try ModelContents(file: file, modelName: modelName).model(root)
  }

  func model(_ root: MarkupElement) throws -> ManagedObjectModel {
    guard root.name == "model" else {
      throw problem("expected the element <model>, found <\(root.name)>", at: root)
    }
    try check(root, attributes: Self.modelAttributes, children: Self.modelChildren)
    if let type = root.attribute("type"), type.value != "com.apple.IDECoreDataModeler.DataModel" {
      throw problem("expected a Core Data model, found the type '\(type.value)'", at: type)
    }
    if let version = root.attribute("documentVersion"), version.value != "1.0" {
      throw problem("expected document version 1.0, found '\(version.value)'", at: version)
    }

    let composites = try CompositeTypes(root, in: self)
    let entityElements = root.children(named: "entity")
    var entities: [EntityDescription] = []
    var places: [String: MarkupElement] = [:]
    for element in entityElements {
      let entity = try entity(element, composites: composites)
      guard places.updateValue(element, forKey: entity.name) == nil else {
        throw problem("entity '\(entity.name)' is defined twice", at: element)
      }
      entities.append(entity)
    }
    let known = Set(places.keys)
    for element in entityElements { try resolveNames(of: element, known) }
    try resolveInverses(of: entityElements, entities: entities)

    var configurations: [String: [String]] = [:]
    var mirrored = root["usedWithCloudKit"] == "YES" ? known : []
    for element in root.children(named: "configuration") {
      try check(element, attributes: ["name", "syncable", "usedWithCloudKit"], children: ["memberEntity"])
      let name = try required("name", of: element)
      var members: [String] = []
      for member in element.children(named: "memberEntity") {
        try check(member, attributes: ["name"], children: [])
        let entity = try required("name", of: member)
        guard places[entity] != nil else {
          remarks.ignore(
            "<memberEntity>.name=\(entity)",
            "the unknown entity '\(entity)' in the configuration '\(name)'"
              + Spelling.suggestion(for: entity, among: places.keys.sorted()), location(member.line, member.column))
          continue
        }
        members.append(entity)
      }
      if element["usedWithCloudKit"] == "YES" { mirrored.formUnion(members) }
      guard configurations.updateValue(members, forKey: name) == nil else {
        throw problem("configuration '\(name)' is defined twice", at: element)
      }
    }

    do {
      var model = try ManagedObjectModel(
        name: modelName, entities: entities,
        versionIdentifiers: [root["userDefinedModelVersionIdentifier"] ?? ""],
        configurations: configurations,
        fetchRequestTemplates: try root.children(named: "fetchRequest").map(fetchRequest))
      model.remarks = remarks.list
      model.cloudKitEntities = mirrored
      return model
    } catch var error as GodwitError {
      error.location = error.location ?? location(root.line, root.column)
      if error.location == nil { error.context = error.context ?? file }
      throw error
    }
  }

  /// Parents, destinations and inverses, so that a complaint has the place in the file.
  private func resolveNames(of element: MarkupElement, _ known: Set<String>) throws {
    if let parent = element.attribute("parentEntity"), !parent.value.isEmpty, !known.contains(parent.value) {
      throw unknown("parent entity", parent.value, among: known.sorted(), at: parent)
    }
    for relationship in element.children(named: "relationship") {
      if let name = relationship.attribute("destinationEntity"), !known.contains(name.value) {
        throw unknown("entity", name.value, among: known.sorted(), at: name)
      }
      // The inverse is found in the destination without it.
      if let name = relationship.attribute("inverseEntity"), !name.value.isEmpty, !known.contains(name.value) {
        ignoreValue(name, of: relationship, among: known.sorted(), for: "the destination's")
      }
    }
  }

  private func resolveInverses(of elements: [MarkupElement], entities: [EntityDescription]) throws {
    let byName = Dictionary(entities.map { ($0.name, $0) }) { first, _ in first }
    let declared = byName.mapValues { Set($0.relationships.map(\.name)) }
    // The model itself complains about a circle, and about more ancestors.
    func lineage(of name: String?) -> [String] {
      var line: [String] = []
      var next = name
      while let current = next, let entity = byName[current], line.count <= ManagedObjectModel.ancestorsMaximum {
        line.append(current)
        next = entity.superentityName
      }
      return line
    }
    for element in elements {
      for relationship in element.children(named: "relationship") {
        guard let inverse = relationship.attribute("inverseName"), !inverse.value.isEmpty else { continue }
        let destination = relationship["destinationEntity"]
        let ends = lineage(of: destination) + lineage(of: relationship["inverseEntity"])
        guard let end = ends.first(where: { declared[$0]?.contains(inverse.value) == true }) else {
          let known = Set(ends.flatMap { declared[$0] ?? [] })
          throw problem(
            "relationship '\(relationship["name"] ?? "")' names the inverse '\(inverse.value)', "
              + "which '\(destination ?? "")' lacks" + Spelling.suggestion(for: inverse.value, among: known.sorted()),
            at: inverse)
        }
        let owner = element["name"] ?? ""
        guard let own = byName[owner]?.relationships.first(where: { $0.name == relationship["name"] }),
          let back = byName[end]?.relationships.first(where: { $0.name == inverse.value }),
          !own.isToMany, !back.isToMany, back.inverseName != own.name
        else { continue }
        remarks.ignore(
          "\(owner).\(own.name).inverseName", "the inverse '\(back.name)' of '\(owner).\(own.name)'",
          location(inverse.line, inverse.column),
          done: "is ignored: '\(end).\(back.name)' does not name '\(own.name)' as its inverse")
      }
    }
  }

  // MARK: Entities

  private func entity(_ element: MarkupElement, composites: CompositeTypes) throws -> EntityDescription {
    try check(element, attributes: Self.entityAttributes, children: Self.entityChildren)
    var entity = EntityDescription(name: try required("name", of: element))
    entity.managedObjectClassName = nonEmpty("representedClassName", of: element)
    entity.superentityName = nonEmpty("parentEntity", of: element)
    entity.isAbstract = try flag("isAbstract", of: element)
    entity.renamingIdentifier = nonEmpty("elementID", of: element)
    entity.versionHashModifier = nonEmpty("versionHashModifier", of: element)
    var names: Set<String> = []
    for child in element.children {
      switch child.name {
      case "attribute": entity.attributes.append(try attribute(child, of: entity.name, composites: composites))
      case "relationship": entity.relationships.append(try relationship(child))
      case "fetchedProperty": entity.fetchedProperties.append(try fetchedProperty(child))
      case "userInfo": entity.userInfo = try userInfo(child)
      case "fetchIndex": entity.fetchIndexes.append(try fetchIndex(child))
      case "uniquenessConstraints":
        entity.uniquenessConstraints = try nameLists(child, item: "uniquenessConstraint", name: "constraint")
      case "compoundIndexes":
        entity.compoundIndexes = try nameLists(child, item: "compoundIndex", name: "index")
      default: break
      }
      if ["attribute", "relationship", "fetchedProperty"].contains(child.name),
        let name = child["name"], !names.insert(name).inserted
      {
        throw problem("property '\(entity.name).\(name)' is defined twice", at: child)
      }
    }
    return entity
  }

  private func fetchIndex(_ element: MarkupElement) throws -> FetchIndexDescription {
    try check(element, attributes: ["name", "partialIndexPredicate"], children: ["fetchIndexElement"])
    var elements: [FetchIndexDescription.Element] = []
    for child in element.children(named: "fetchIndexElement") {
      try check(child, attributes: ["property", "expression", "expressionType", "type", "order"], children: [])
      guard child["property"] != nil || child["expression"] != nil else {
        remarks.ignore(
          "<fetchIndexElement>", "a <fetchIndexElement> with neither a property nor an expression",
          location(child.line, child.column))
        continue
      }
      elements.append(
        .init(
          propertyName: child["property"], expressionText: child["expression"],
          isRTree: word("type", of: child, from: ["Binary", "RTree"], default: "Binary") == "RTree",
          isAscending: word("order", of: child, from: ["ascending", "descending"], default: "ascending") == "ascending")
      )
    }
    return FetchIndexDescription(
      name: try required("name", of: element), elements: elements,
      partialPredicateText: nonEmpty("partialIndexPredicate", of: element))
  }

  private func nameLists(_ element: MarkupElement, item: String, name: String) throws -> [[String]] {
    try check(element, attributes: [], children: [item])
    return try element.children(named: item).map { list in
      try check(list, attributes: [], children: [name])
      return try list.children(named: name).map { entry in
        try check(entry, attributes: ["value"], children: [])
        return try required("value", of: entry)
      }
    }
  }

  func userInfo(_ element: MarkupElement) throws -> [String: String] {
    try check(element, attributes: [], children: ["entry"])
    var info: [String: String] = [:]
    for entry in element.children(named: "entry") {
      try check(entry, attributes: ["key", "value"], children: [])
      guard let key = entry["key"] else {
        remarks.ignore("<entry>", "an <entry> without a key", location(entry.line, entry.column))
        continue
      }
      info[key] = entry["value"] ?? ""
    }
    return info
  }

  func fetchRequest(_ element: MarkupElement) throws -> FetchRequestTemplate {
    try check(element, attributes: Self.fetchRequestAttributes, children: [])
    return FetchRequestTemplate(
      name: try required("name", of: element), entityName: try required("entity", of: element),
      predicateText: element["predicateString"])
  }
}
