/// The path of a resource, some of whose segments are variable: `/v1/users/{user}/entitlements`.
struct PathTemplate: Hashable, Sendable {
    private enum Segment: Hashable {
        case fixed(String)
        case variable(String)
    }

    /// The template as written.
    let text: String
    private let segments: [Segment]

    init(_ text: String) {
        self.text = text
        segments = Self.split(text).map { segment in
            segment.hasPrefix("{") && segment.hasSuffix("}") ? .variable(String(segment.dropFirst().dropLast())) : .fixed(String(segment))
        }
    }

    /// True without variable segments.
    var isFixed: Bool {
        segments.allSatisfy { if case .fixed = $0 { true } else { false } }
    }

    /// True when a path has the fixed segments, and text in place of each variable one.
    func matches(_ path: String) -> Bool {
        encodedValues(in: path) != nil
    }

    /// The values of the variable segments, percent-decoded once; nil when the path does not match. A variable segment has at least one character.
    ///
    /// - Throws: `malformedPath` when a value cannot be decoded.
    func values(in path: String) throws(Problem) -> [String: String]? {
        guard let encoded = encodedValues(in: path) else { return nil }
        var values: [String: String] = [:]
        for (name, text) in encoded {
            guard let value = PercentEncoding.decode(text) else { throw .malformedPath }
            values[name] = value
        }
        return values
    }

    private func encodedValues(in path: String) -> [(name: String, text: Substring)]? {
        let parts = Self.split(path)
        guard parts.count == segments.count else { return nil }
        var encoded: [(name: String, text: Substring)] = []
        for (segment, part) in zip(segments, parts) {
            switch segment {
            case .fixed(let text): if part != text { return nil }
            case .variable(let name): if part.isEmpty { return nil } else { encoded.append((name, part)) }
            }
        }
        return encoded
    }

    private static func split(_ path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false)
    }
}
