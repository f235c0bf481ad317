/// What somebody handed over as a receipt, told by its first bytes.
package enum ReceiptInput: Hashable, Sendable {
    /// The encoding of an app receipt, or of something else in ASN.1.
    case appReceipt([UInt8])
    /// The receipt of a single transaction as iOS 6 and earlier made them.
    case transactionReceipt(TransactionReceipt)
    /// Base64 of something else.
    case other
    /// Neither ASN.1 nor base64.
    case notBase64
    case empty

    /// Recognises ASN.1 as it is or in base64; white space around and within base64 does not count.
    package init(_ input: ArraySlice<UInt8>) {
        // A receipt has more than 127 bytes, so that the octet after its tag is none that text has.
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
