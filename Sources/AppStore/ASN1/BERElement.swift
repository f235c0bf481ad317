/// One element of an ASN.1 encoding: its tag and its position.
struct BERElement {
    let tag: BERTag
    /// Where the tag begins.
    let offset: Int
    /// The content, without the end-of-contents of an indefinite length.
    let content: Range<Int>
    /// Where the next element begins.
    let end: Int
}

/// The first octet of a tag (X.690 §8.1.2): class, constructed bit, and the number when it is below 31.
///
/// Tag numbers from 31 on all compare equal; Apple uses none.
struct BERTag: Hashable {
    let octet: UInt8

    static let integer = BERTag(octet: 0x02)
    static let bitString = BERTag(octet: 0x03)
    static let octetString = BERTag(octet: 0x04)
    /// An octet string in segments (X.690 §8.7.3), BER only.
    static let segmentedOctetString = BERTag(octet: 0x24)
    static let null = BERTag(octet: 0x05)
    static let objectIdentifier = BERTag(octet: 0x06)
    static let utf8String = BERTag(octet: 0x0c)
    static let printableString = BERTag(octet: 0x13)
    static let ia5String = BERTag(octet: 0x16)
    static let visibleString = BERTag(octet: 0x1a)
    static let sequence = BERTag(octet: 0x30)
    static let set = BERTag(octet: 0x31)

    /// The explicit tag `[number]`.
    static func context(_ number: UInt8) -> BERTag { BERTag(octet: 0xa0 | number) }

    var isConstructed: Bool { octet & 0x20 != 0 }
}
