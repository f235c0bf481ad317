import Testing

@testable import OpenSSL

/// Signatures with numbers at the ends of their ranges, made by choosing s and the digest e first and the secret key d afterwards.
///
/// With the point k·G for k = 2, whose x coordinate is r, the signature (r, s) of e is genuine for d = (k·s - e) / r.
struct EdgeSignatureTests {
    private typealias Order = OrderArithmetic

    /// The x coordinate of 2 G.
    private static let r = HexBytes("7cf27b188d034f7e8a52380304b51ac3c08969e277f21b35a60b48fc47669978").bytes
    private static let inverseOfR = Order.inverse(r)
    private static let maximum = [UInt8](repeating: 0xff, count: 32)
    private static let random = [0x3f] + (0..<31).map { _ in UInt8.random(in: 0...255) }

    private static let edges: [(name: String, s: [UInt8])] = [
        ("1", Order.number(1)), ("n - 1", Order.negated(Order.number(1))), ("random", random),
    ]

    private static let digests: [(name: String, e: [UInt8])] = [
        ("0", Order.zero), ("1", Order.number(1)), ("n - 1", Order.negated(Order.number(1))), ("n, which is 0", Order.order),
        ("n + 1, which is 1", Order.order.dropLast() + [0x52]),
        ("2^256 - 1", maximum), ("random", random),
    ]

    @Test(arguments: edges.map(\.name), digests.map(\.name))
    func `edge signatures are accepted, and their neighbours are not`(s name: String, digest: String) throws {
        let s = try #require(Self.edges.first { $0.name == name }).s
        let e = try #require(Self.digests.first { $0.name == digest }).e
        let reduced = e.lexicographicallyPrecedes(Order.order) ? e : Order.difference(e, Order.order)
        let secret = Order.product(Order.added(Order.added(s, s), Order.negated(reduced)), Self.inverseOfR)
        let key = try PrivateKey(secret: secret).publicKey
        #expect(isGenuine(key, Self.r, s, e), "s \(s), e \(e)")
        #expect(isGenuine(key, Self.r, Order.negated(s), e), "n - s, s \(s), e \(e)")
        // The neighbours are forgeries.
        var changed = e
        changed[31] ^= 1
        #expect(!isGenuine(key, Self.r, s, changed))
        #expect(!isGenuine(key, Self.r, Order.added(s, Order.number(3)), e))
        #expect(!isGenuine(key, Order.added(Self.r, Order.number(1)), s, e))
    }

    private func isGenuine(_ key: PublicKey, _ r: [UInt8], _ s: [UInt8], _ e: [UInt8]) -> Bool {
        ECDSASignature.der(fromRaw: r + s).map { key.verify(der: $0, digest: e) } ?? false
    }
}
