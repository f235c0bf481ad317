/// Decides from the DER of an untrusted X.509 certificate (RFC 5280 §4.1) whether libcrypto may parse it.
///
/// libcrypto computes with whatever parameters a key brings along: with a curve that the certificate describes itself, parsing 700 bytes
/// takes a third of a second. So the size is bounded, and the key must be one of the few kinds that Apple uses.
///
/// The path to the key is read as strict DER, in which there is one reading of the bytes: libcrypto finds the same key.
package enum CertificateForm {
    /// The limit of a certificate's size; Apple's have at most 1,482 bytes.
    package static let maximumByteCount = 4096
    /// The limit of an RSA modulus; Apple's keys have 2048 and 4096 bits.
    package static let maximumRSABitCount = 4096

    /// Why a certificate is refused.
    package enum Refusal: Error, Hashable, Sendable {
        /// More than ``maximumByteCount`` bytes.
        case tooLarge(byteCount: Int)
        /// Not the DER of a certificate, as far as its key.
        case notDER(ASN1Error)
        /// Neither an elliptic curve key nor an RSA key.
        case keyAlgorithm
        /// A curve other than P-256 and P-384, or one that is not given by its name.
        case curve
        /// A point that is compressed, or not as long as the curve's coordinates.
        case point
        /// A modulus of more than ``maximumRSABitCount`` bits, or not positive.
        case modulus
        /// An RSA exponent that is even, below 3 or longer than 64 bits.
        case exponent
    }

    /// Throws unless the certificate's size and key are acceptable; bytes after the certificate are ignored.
    package static func check(_ certificate: [UInt8]) throws(Refusal) {
        guard certificate.count <= maximumByteCount else { throw .tooLarge(byteCount: certificate.count) }
        try certificate.withUnsafeBufferPointer { bytes throws(Refusal) in
            var (algorithm, key) = try reading { () throws(ASN1Error) in try subjectPublicKeyInfo(in: BERReader(bytes)) }
            let identifier = try reading { () throws(ASN1Error) in try algorithm.readObjectIdentifier() }
            switch identifier {
            case ObjectIdentifier.ecPublicKey: try checkCurve(algorithm, point: key)
            case ObjectIdentifier.rsaEncryption: try checkRSA(algorithm, key)
            default: throw .keyAlgorithm
            }
        }
    }

    /// Readers of the algorithm and of the content of the bit string with the key.
    private static func subjectPublicKeyInfo(in whole: BERReader) throws(ASN1Error) -> (algorithm: BERReader, key: BERReader) {
        var outermost = whole
        var certificate = try outermost.enterDER(.sequence)
        var body = try certificate.enterDER(.sequence)
        if body.nextTag == .context(0) { _ = try body.nextDER(.context(0)) }
        _ = try body.nextDER(.integer)
        // Algorithm of the signature, issuer, validity, subject.
        for _ in 0..<4 { _ = try body.nextDER(.sequence) }
        var info = try body.enterDER(.sequence)
        let algorithm = try info.enterDER(.sequence)
        let key = try info.enterDER(.bitString)
        try info.expectEnd()
        guard key.nextTag?.octet == 0 else { throw ASN1Error(.unexpectedTag, at: key.range.lowerBound) }
        return (algorithm, BERReader(key.bytes, key.range.dropFirst()))
    }

    private static func checkCurve(_ algorithm: BERReader, point: BERReader) throws(Refusal) {
        var parameters = algorithm
        // Anything but a name would be a description of the curve.
        guard parameters.nextTag == .objectIdentifier else { throw .curve }
        let name = try reading { () throws(ASN1Error) in
            let name = try parameters.nextDER(.objectIdentifier)
            try parameters.expectEnd()
            return Array(parameters.bytes[name.content])
        }
        let coordinateByteCount: Int
        switch name {
        case ObjectIdentifier.p256: coordinateByteCount = 32
        case ObjectIdentifier.p384: coordinateByteCount = 48
        default: throw .curve
        }
        // 4 marks an uncompressed point (SEC 1 §2.3.3).
        guard point.nextTag?.octet == 4, point.range.count == 1 + 2 * coordinateByteCount else { throw .point }
    }

    private static func checkRSA(_ algorithm: BERReader, _ key: BERReader) throws(Refusal) {
        var (parameters, whole) = (algorithm, key)
        let (modulus, exponent) = try reading { () throws(ASN1Error) in
            _ = try parameters.nextDER(.null)
            try parameters.expectEnd()
            var numbers = try whole.enterDER(.sequence)
            try whole.expectEnd()
            let pair = (try numbers.magnitude(), try numbers.magnitude())
            try numbers.expectEnd()
            return pair
        }
        guard let modulus, let first = modulus.first, 8 * modulus.count - first.leadingZeroBitCount <= maximumRSABitCount else {
            throw .modulus
        }
        guard let exponent, let last = exponent.last, exponent.count <= 8, last & 1 == 1, exponent != [1] else { throw .exponent }
    }

    private static func reading<Value>(_ read: () throws(ASN1Error) -> Value) throws(Refusal) -> Value {
        do throws(ASN1Error) {
            return try read()
        } catch {
            throw .notDER(error)
        }
    }
}

extension CertificateForm.Refusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLarge(let byteCount): "\(byteCount) bytes instead of at most \(CertificateForm.maximumByteCount)"
        case .notDER(let error): "\(error)"
        case .keyAlgorithm: "neither an elliptic curve key nor an RSA key"
        case .curve: "the key's curve is not P-256 or P-384 by name"
        case .point: "the key is not an uncompressed point of its curve"
        case .modulus: "an RSA modulus of more than \(CertificateForm.maximumRSABitCount) bits"
        case .exponent: "an RSA exponent that is even, below 3 or longer than 64 bits"
        }
    }
}

extension BERReader {
    /// Reads the next element, which must have that tag and the only header that DER allows for its length (X.690 §10.1).
    fileprivate mutating func nextDER(_ tag: BERTag) throws(ASN1Error) -> BERElement {
        let element = try next(tag)
        let count = element.content.count
        let lengthOctets = count < 128 ? 1 : 1 + (Int.bitWidth - count.leadingZeroBitCount + 7) / 8
        guard element.content.lowerBound - element.offset == 1 + lengthOctets, element.end == element.content.upperBound else {
            throw ASN1Error(.lengthInvalid, at: element.offset)
        }
        return element
    }

    fileprivate mutating func enterDER(_ tag: BERTag) throws(ASN1Error) -> BERReader {
        reader(in: try nextDER(tag))
    }

    /// Reads an integer and returns its bytes without leading zeros; nil unless it is positive.
    fileprivate mutating func magnitude() throws(ASN1Error) -> [UInt8]? {
        let content = bytes[try nextDER(.integer).content]
        guard let first = content.first, first < 0x80 else { return nil }
        let magnitude = Array(content.drop { $0 == 0 })
        return magnitude.isEmpty ? nil : magnitude
    }
}
