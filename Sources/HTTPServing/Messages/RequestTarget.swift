/// The target of a request line (RFC 9112, section 3.2), not decoded.
struct RequestTarget: Equatable {
    let path: String
    /// What follows the question mark; nil without one.
    let query: String?

    /// - Parameter text: the target in any form. One that names no path, such as `*`, is its own path.
    init(_ text: String) {
        let origin = text.utf8.first == UInt8(ascii: "/") ? text[...] : Self.afterAuthority(text)
        let mark = origin.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = origin[..<(mark ?? origin.endIndex)]
        self.path = path.isEmpty ? "/" : String(path)
        query = mark.map { String(origin[origin.utf8.index(after: $0)...]) }
    }

    /// The path and query of the absolute form.
    private static func afterAuthority(_ text: String) -> Substring {
        guard let scheme = text.firstRange(of: "://") else { return text[...] }
        let rest = text[scheme.upperBound...]
        return rest[(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)...]
    }
}
