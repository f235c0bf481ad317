/// A known member of a payload has the wrong JSON type or a value out of range.
package struct MalformedPayload: Error, Hashable, Sendable {
    /// Where the member is: `data.status`, `items[2].price`.
    package let path: String
    /// What should be there, for instance `integer`; the value itself is never told.
    package let expectation: String

    /// That member should have been that.
    package init(path: String, expectation: String) {
        self.path = path
        self.expectation = expectation
    }

    /// The same error as seen from the object that holds the one it happened in.
    func inside(_ outerPath: String) -> MalformedPayload {
        MalformedPayload(path: "\(outerPath).\(path)", expectation: expectation)
    }
}

extension MalformedPayload: CustomStringConvertible {
    package var description: String {
        "payload: \(path) is not \(expectation)"
    }
}
