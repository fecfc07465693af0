import GodwitModel

/// The composite types of a `contents` file, each with its elements. Attributes refer to them by name.
struct CompositeTypes {
  /// SQLite allows no more columns, so a store cannot hold more leaves.
  private static let leavesMaximum = 2_000

  private(set) var elements: [String: [AttributeDescription]] = [:]

  /// - Throws: code `.missingInput` for a type that is defined twice, contains itself or has too many elements.
  init(_ root: MarkupElement, in contents: ModelContents) throws {
    var open: [MarkupElement] = []
    for element in root.children(named: "composite") {
      try contents.check(element, attributes: ["name", "elementID", "syncable"], children: ["attribute", "userInfo"])
      let name = try contents.required("name", of: element)
      guard !open.contains(where: { $0["name"] == name }) else {
        throw contents.problem("composite type '\(name)' is defined twice", at: element)
      }
      open.append(element)
    }
    // A type is read after those that it contains.
    while !open.isEmpty {
      let waiting = Set(open.compactMap { $0["name"] })
      let ready = open.filter { element in
        element.children(named: "attribute").allSatisfy { $0["composite"].map { !waiting.contains($0) } ?? true }
      }
      guard let first = ready.first ?? open.first, let name = first["name"] else { break }
      guard !ready.isEmpty else { throw contents.problem("composite type '\(name)' contains itself", at: first) }
      for element in ready { try read(element, in: contents) }
      open.removeAll { element in ready.contains { $0["name"] == element["name"] } }
    }
  }

  private mutating func read(_ element: MarkupElement, in contents: ModelContents) throws {
    let name = try contents.required("name", of: element)
    var read: [AttributeDescription] = []
    var leaves = 0
    for child in element.children(named: "attribute") {
      let attribute = try contents.attribute(child, of: name, composites: self)
      guard !read.contains(where: { $0.name == attribute.name }) else {
        throw contents.problem("property '\(name).\(attribute.name)' is defined twice", at: child)
      }
      leaves += attribute.leaves.count
      guard leaves <= Self.leavesMaximum else {
        throw contents.problem(
          "expected at most \(Self.leavesMaximum) elements of composite type '\(name)', found more", at: element)
      }
      read.append(attribute)
    }
    elements[name] = read
  }
}
