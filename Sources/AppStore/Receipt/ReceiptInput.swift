/// The form of an input that should be a receipt, recognised by its first bytes.
package enum ReceiptInput: Hashable, Sendable {
    /// The encoding of an app receipt, or of other ASN.1.
    case appReceipt([UInt8])
    /// The iOS 6 style receipt of a single transaction.
    case transactionReceipt(TransactionReceipt)
    /// Base64 of other bytes.
    case other
    /// Neither ASN.1 nor base64.
    case notBase64
    case empty

    /// Recognises ASN.1, raw or in base64; ignores white space around and within base64.
    package init(_ input: ArraySlice<UInt8>) {
        // A receipt has more than 127 bytes, so the octet after its tag is at least 0x80, which base64 text does not contain.
        let first = input.prefix(2)
        if first.first == 0x30, first.count == 2, first[first.startIndex + 1] >= 0x80 {
            self = .appReceipt(Array(input))
            return
        }
        if let receipt = TransactionReceipt(input) {
            self = .transactionReceipt(receipt)
            return
        }
        guard let bytes = Base64.decodeLoosely(input) else {
            self = .notBase64
            return
        }
        if let first = bytes.first {
            self = first == 0x30 ? .appReceipt(bytes) : TransactionReceipt(bytes[...]).map(Self.transactionReceipt) ?? .other
        } else {
            self = .empty
        }
    }
}
