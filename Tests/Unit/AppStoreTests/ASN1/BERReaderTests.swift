import Testing

@testable import AppStore

struct BERReaderTests {
    /// `SEQUENCE { OCTET STRING 01 02 03, INTEGER 5 }` in DER, and in BER with the string in two segments.
    private static let der: [UInt8] = [0x30, 0x08, 0x04, 0x03, 1, 2, 3, 0x02, 0x01, 5]
    private static let ber: [UInt8] = [0x30, 0x80, 0x24, 0x80, 0x04, 0x01, 1, 0x04, 0x81, 0x02, 2, 3, 0, 0, 0x02, 0x01, 5, 0, 0]

    @Test(arguments: [der, ber]) func `definite and indefinite lengths are equivalent`(encoding: [UInt8]) throws {
        let (octets, integer) = try read(encoding)
        #expect(octets == [1, 2, 3] && integer == 5)
    }

    @Test(arguments: [der, ber]) func `a truncated encoding is refused with the offset`(encoding: [UInt8]) {
        for count in encoding.indices {
            let error = #expect(throws: ASN1Error.self, "cut at \(count)") { try read(Array(encoding.prefix(count))) }
            #expect((error?.offset ?? -1) <= count)
        }
    }

    @Test(
        arguments: [
            ([0x30, 0x80], ASN1Error.Code.unterminated), ([0x30, 0x81], .truncated), ([0x30, 0xff, 0, 0], .lengthInvalid),
            ([0x30, 0x85, 1, 0, 0, 0, 0], .lengthBeyondEnd), ([0x30, 0x88, 0x7f, 255, 255, 255, 255, 255, 255, 255], .lengthInvalid),
            ([0x30, 0x82, 0x7f, 0xff, 0], .lengthBeyondEnd), ([0x04, 0x80, 0, 0], .indefinitePrimitive),
            ([0, 0], .unexpectedEndOfContents),
            ([0x30, 0x80, 0, 1, 0, 0], .unexpectedEndOfContents), ([0x1f, 0xff], .truncated), ([], .truncated),
        ] as [([UInt8], ASN1Error.Code)]
    ) func `an invalid length is refused`(encoding: [UInt8], code: ASN1Error.Code) {
        let error = #expect(throws: ASN1Error.self) { try reading(encoding) { reader throws(ASN1Error) in _ = try reader.next() } }
        #expect(error?.code == code)
    }

    @Test func `leading zeros in a length are accepted`() throws {
        try reading([0x04, 0x8a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 7, 8]) { reader throws(ASN1Error) in
            #expect(try reader.readOctets() == [7, 8])
        }
    }

    @Test func `a tag with a long number is one element`() throws {
        try reading([0xbf, 0x87, 0x68, 0x01, 0xaa, 0x02, 0x01, 0x03]) { reader throws(ASN1Error) in
            #expect(try reader.next().content.count == 1)
            #expect(try reader.readInteger() == 3)
        }
    }

    @Test(arguments: [16, 17, 100_000]) func `nested indefinite lengths are limited and use no stack`(depth: Int) {
        let encoding: [UInt8] =
            Array(repeatElement([0x30, 0x80] as [UInt8], count: depth).joined()) + [UInt8](repeating: 0, count: 2 * depth)
        let result = Result { try reading(encoding) { reader throws(ASN1Error) in _ = try reader.next() } }
        switch result {
        case .success: #expect(depth <= BERReader.maximumDepth)
        case .failure(let error): #expect(depth > BERReader.maximumDepth && (error as? ASN1Error)?.code == .tooDeep)
        }
    }

    @Test(arguments: [15, 16, 50]) func `nested segments are limited`(depth: Int) {
        var encoding: [UInt8] = [0x04, 0x01, 9]
        for _ in 0..<depth { encoding = [0x24, UInt8(encoding.count)] + encoding }
        let result = Result { try reading(encoding) { reader throws(ASN1Error) in _ = try reader.readOctets() } }
        #expect((try? result.get()) != nil ? depth <= BERReader.maximumDepth : depth > BERReader.maximumDepth)
    }

    @Test func `a segment that is not an octet string is refused`() {
        let error = #expect(throws: ASN1Error.self) {
            try reading([0x24, 0x03, 0x02, 0x01, 0x05]) { reader throws(ASN1Error) in _ = try reader.readOctets() }
        }
        #expect(error == ASN1Error(.unexpectedTag, at: 2))
    }

    @Test(
        arguments: [
            ([0x02, 0x01, 0x00], 0), ([0x02, 0x01, 0xff], -1), ([0x02, 0x02, 0x00, 0x80], 128), ([0x02, 0x01, 0x80], -128),
            ([0x02, 0x08, 0x7f, 255, 255, 255, 255, 255, 255, 255], Int64.max), ([0x02, 0x08, 0x80, 0, 0, 0, 0, 0, 0, 0], Int64.min),
            ([0x02, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2], 258), ([0x02, 0x09, 255, 255, 255, 255, 255, 255, 255, 255, 0xfe], -2),
        ] as [([UInt8], Int64)]
    ) func `integers are read up to 64 bits`(encoding: [UInt8], value: Int64) throws {
        try reading(encoding) { reader throws(ASN1Error) in #expect(try reader.readInteger() == value) }
    }

    @Test(arguments: [[0x02, 0x00], [0x02, 0x09, 0, 0x80, 0, 0, 0, 0, 0, 0, 0], [0x02, 0x09, 1, 0, 0, 0, 0, 0, 0, 0, 0]] as [[UInt8]])
    func `an empty integer or one beyond 64 bits is refused`(encoding: [UInt8]) {
        let error = #expect(throws: ASN1Error.self) {
            try reading(encoding) { reader throws(ASN1Error) in _ = try reader.readInteger() }
        }
        #expect(error?.code == .integerInvalid)
    }

    @Test func `text that is not UTF-8, or not ASCII in an ASCII type, is refused`() throws {
        for encoding in [[0x0c, 0x01, 0xff], [0x16, 0x02, 0xc3, 0xa9]] as [[UInt8]] {
            let error = #expect(throws: ASN1Error.self) {
                try reading(encoding) { reader throws(ASN1Error) in _ = try reader.readText() }
            }
            #expect(error?.code == .textInvalid)
        }
        try reading([0x0c, 0x02, 0xc3, 0xa9]) { reader throws(ASN1Error) in #expect(try reader.readText() == "é") }
    }

    private func read(_ encoding: [UInt8]) throws -> ([UInt8], Int64) {
        try reading(encoding) { reader throws(ASN1Error) in
            var sequence = try reader.enter(.sequence)
            let values = (try sequence.readOctets(), try sequence.readInteger())
            try sequence.expectEnd()
            try reader.expectEnd()
            return values
        }
    }

    private func reading<Value>(_ encoding: [UInt8], _ body: (inout BERReader) throws(ASN1Error) -> Value) throws -> Value {
        try encoding.withUnsafeBufferPointer { bytes throws(ASN1Error) in
            var reader = BERReader(bytes)
            return try body(&reader)
        }
    }
}
