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
    func inside(_ outerPath: String) -> MalformedPayload {
        MalformedPayload(path: "\(outerPath).\(path)", expectation: expectation)
    }
}

extension MalformedPayload: CustomStringConvertible {
    package var description: String {
        "payload: \(path) is not \(expectation)"
    }
}
