/// One element of an ASN.1 encoding: where it is and what its tag says.
struct BERElement {
    /// The first octet of the tag: class, whether it is constructed, and the number when that is below 31.
    let tag: BERTag
    /// Where the tag begins.
    let offset: Int
    /// The content; without the end-of-contents of an indefinite length.
    let content: Range<Int>
    /// Where the next element begins.
    let end: Int
}

/// The first octet of a tag (X.690 §8.1.2); numbers from 31 on are told apart by nobody here, since nothing genuine has them.
struct BERTag: Hashable {
    let octet: UInt8

    static let integer = BERTag(octet: 0x02)
    static let octetString = BERTag(octet: 0x04)
    /// An octet string in segments (X.690 §8.7.3), as BER has them.
    static let segmentedOctetString = BERTag(octet: 0x24)
    static let objectIdentifier = BERTag(octet: 0x06)
    static let utf8String = BERTag(octet: 0x0c)
    static let printableString = BERTag(octet: 0x13)
    static let ia5String = BERTag(octet: 0x16)
    static let visibleString = BERTag(octet: 0x1a)
    static let sequence = BERTag(octet: 0x30)
    static let set = BERTag(octet: 0x31)

    /// `[number]` around something else.
    static func context(_ number: UInt8) -> BERTag { BERTag(octet: 0xa0 | number) }

    var isConstructed: Bool { octet & 0x20 != 0 }
}
