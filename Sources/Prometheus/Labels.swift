/// The labels of one series, sorted by name.
struct Labels: Hashable, Sendable {
    struct Label: Hashable, Sendable {
        let name: String
        let value: String
    }

    let all: [Label]

    init(_ dimensions: [(String, String)]) {
        all = dimensions.map { Label(name: $0.0, value: $0.1) }.sorted { $0.name < $1.name }
    }
}

extension Labels: Comparable {
    static func < (left: Labels, right: Labels) -> Bool {
        left.all.lexicographicallyPrecedes(right.all) { ($0.name, $0.value) < ($1.name, $1.value) }
    }
}
