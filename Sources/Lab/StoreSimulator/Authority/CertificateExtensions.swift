import OpenSSL

/// Extensions that make simulated certificates about as large as Apple's, for realistic sizes and times.
///
/// All addresses but those of a responder that is given end in `.invalid` (RFC 2606): nothing can be fetched.
enum CertificateExtensions {
    /// Marks the intermediate of Apple's Worldwide Developer Relations.
    static let intermediateMarker = "1.2.840.113635.100.6.2.1"
    /// Marks a leaf that signs for the App Store.
    static let leafMarker = "1.2.840.113635.100.6.11.1"

    static let host = "http://simulated.invalid"

    static func ofIntermediate(marked: Bool, responder: String = host) -> [CertificateBuilder.Extension] {
        let ocsp = accessDescription(method: ocspMethod, "\(responder)/ocsp03-testrootcag3")
        let distribution = DER.context(0, DER.context(0, DER.context(6, constructed: false, Array("\(host)/testrootcag3.crl".utf8))))
        return [
            .init(oid: "1.3.6.1.5.5.7.1.1", value: DER.sequence(ocsp)),
            .init(oid: "2.5.29.31", value: DER.sequence(DER.sequence(distribution))),
        ] + (marked ? [.init(oid: intermediateMarker, value: DER.null)] : [])
    }

    static func ofLeaf(marked: Bool, responder: String = host) -> [CertificateBuilder.Extension] {
        let issuers = accessDescription(method: DER.oid(1, 3, 6, 1, 5, 5, 7, 48, 2), "\(host)/testg6.der")
        let ocsp = accessDescription(method: ocspMethod, "\(responder)/ocsp03-testg602")
        return [
            .init(oid: "1.3.6.1.5.5.7.1.1", value: DER.sequence(issuers, ocsp)),
            .init(oid: "2.5.29.32", value: DER.sequence(policy)),
        ] + (marked ? [.init(oid: leafMarker, value: DER.null)] : [])
    }

    private static let ocspMethod = DER.oid(1, 3, 6, 1, 5, 5, 7, 48, 1)

    private static func accessDescription(method: [UInt8], _ address: String) -> [UInt8] {
        DER.sequence(method, DER.context(6, constructed: false, Array(address.utf8)))
    }

    /// A policy of the documentation arc with a notice as long as Apple's.
    private static var policy: [UInt8] {
        let notice = """
            This certificate belongs to a simulated App Store made for tests, demonstrations and measurements. It proves nothing, \
            must not be relied upon, and no real purchase is signed with it.
            """
        let userNotice = DER.sequence(DER.oid(1, 3, 6, 1, 5, 5, 7, 2, 2), DER.sequence(DER.utf8(notice)))
        let statement = DER.sequence(DER.oid(1, 3, 6, 1, 5, 5, 7, 2, 1), DER.ia5("\(host)/practices/"))
        return DER.sequence(DER.oid(2, 999, 100, 5, 6, 1), DER.sequence(userNotice, statement))
    }
}
