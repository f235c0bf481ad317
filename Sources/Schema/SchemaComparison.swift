/// The differences between a database's schema and the one that the program creates, by the names of the objects.
package struct SchemaComparison: Hashable, Sendable {
    /// Objects that the program creates and the database lacks.
    package private(set) var missing: [String] = []
    /// Objects with another definition in the database.
    package private(set) var different: [String] = []
    /// Objects that the program does not create.
    package private(set) var unknown: [String] = []

    package var isEmpty: Bool { missing.isEmpty && different.isEmpty && unknown.isEmpty }

    /// The missing and different objects, without which the program may not work: a line for each. Settings of a table's storage are the
    /// operator's to choose, as are objects that the program does not create.
    package var defects: [String] {
        (missing.map { "missing: \($0)" } + different.map { "different: \($0)" }).filter { !$0.contains(": settings of ") }
    }

    /// Whether replacing functions, views and privileges may help.
    var concernsDefinitions: Bool {
        (missing + different).contains { object in
            ["function ", "aggregate ", "view ", "trigger ", "privileges "].contains { object.hasPrefix($0) }
        }
            || unknown.contains { $0.hasPrefix("privileges ") }
    }

    /// Compares the digests of objects.
    init(expected: [String: String], found: [String: String]) {
        for (object, digest) in expected {
            guard let other = found[object] else {
                missing.append(object)
                continue
            }
            if other != digest { different.append(object) }
        }
        unknown = found.keys.filter { expected[$0] == nil }.sorted()
        missing.sort()
        different.sort()
    }

    /// A line for each object.
    package var lines: [String] {
        missing.map { "missing: \($0)" } + different.map { "different: \($0)" } + unknown.map { "unknown: \($0)" }
    }
}

extension SchemaComparison: CustomStringConvertible {
    package var description: String { lines.joined(separator: ", ") }
}
