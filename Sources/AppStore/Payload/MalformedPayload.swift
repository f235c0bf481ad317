/// A known member of a payload has the wrong JSON type or a value out of range.
package struct MalformedPayload: Error, Hashable, Sendable {
    /// Where the member is: `data.status`, `items[2].price`.
    package let path: String
    /// What the member should be, for instance `a string`; never the value itself.
    package let expectation: String

    package init(path: String, expectation: String) {
        self.path = path
        self.expectation = expectation
    }

    /// The same error with a path from the enclosing object.
    package func inside(_ outerPath: String) -> MalformedPayload {
        MalformedPayload(path: "\(outerPath).\(path)", expectation: expectation)
    }

    /// The path without numbers, one for all elements of an array: `items[].price`.
    package var kind: String {
        guard path.utf8.contains(UInt8(ascii: "[")) else { return path }
        return path.split(separator: "[", omittingEmptySubsequences: false).enumerated()
            .map { index, part in index == 0 ? String(part) : "[" + part.drop { $0.isNumber } }.joined()
    }

    /// The member itself, without the objects around it. A date in milliseconds is the date.
    var member: String {
        let name = kind.split(separator: ".").last.map(String.init) ?? ""
        let plain = name.hasSuffix("[]") ? String(name.dropLast(2)) : name
        return plain.hasSuffix("_ms") ? String(plain.dropLast(3)) : plain
    }
}

extension MalformedPayload: CustomStringConvertible {
    package var description: String {
        "payload: \(path) is not \(expectation)"
    }
}
