/// Why a receipt's content is unreadable, and at which attribute.
package struct MalformedReceipt: Error, Hashable, Sendable, CustomStringConvertible {
    /// The attribute: `bundle_id`, `in_app[12].expires_date`; empty for the set of attributes itself.
    package let path: String
    /// The error in it, with an offset in the content.
    package let cause: ASN1Error

    package init(path: String, cause: ASN1Error) {
        self.path = path
        self.cause = cause
    }

    func inside(_ outer: String) -> MalformedReceipt {
        MalformedReceipt(path: path.isEmpty ? outer : "\(outer).\(path)", cause: cause)
    }

    package var description: String { path.isEmpty ? "receipt: \(cause)" : "receipt: \(path): \(cause)" }
}
