import AppStore
import StrictJSON

extension SignedPart {
    /// - Parameter isGenuine: whether a configured root vouches for the signature.
    func json(isGenuine: Bool) -> JSONValue {
        [
            "location": .string(location), "kind": .optional(kind?.rawValue), "is_genuine": .bool(isGenuine),
            "payload": .optional(payload), "problem": .optional(problem),
        ]
    }
}
