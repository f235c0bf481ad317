import AppStore
import Glibc
import OpenSSL
import StoreSimulator
import StrictJSON
import Testing

@testable import AppStoreVerification

/// Certificates that would cost libcrypto much time are refused before it sees them.
struct CertificateFormTests {
    private typealias Key = HandmadeCertificate

    private static let point = [4] + [UInt8](repeating: 1, count: 64)
    private static let exponent: [UInt8] = [1, 0, 1]

    @Test func `the keys that Apple uses are accepted`() throws {
        try CertificateForm.check(Key(key: Key.curveKey(Key.p256, point: Self.point)).der)
        try CertificateForm.check(Key(key: Key.curveKey(Key.p384, point: [4] + [UInt8](repeating: 1, count: 96))).der)
        try CertificateForm.check(Key(key: Key.rsaKey(Key.modulus(bitCount: 2048), Self.exponent)).der)
        try CertificateForm.check(Key(key: Key.rsaKey(Key.modulus(bitCount: 4096), [UInt8](repeating: 0xff, count: 8))).der)
        for root in [TrustedRoot.appleRootCA, .appleRootCAG3] { try CertificateForm.check(root.certificate.der) }
    }

    @Test(arguments: [
        (Key.ownCurve, CertificateForm.Refusal.curve),
        (Key.curveKey(Key.p521, point: point), .curve),
        // The curve of the issuer, in an old standard.
        (Key.curveKey([0x05, 0x00], point: point), .curve),
        (Key.curveKey(Key.p256, point: [2] + [UInt8](repeating: 1, count: 32)), .point),
        (Key.curveKey(Key.p256, point: [UInt8](repeating: 4, count: 97)), .point),
        (Key.curveKey(Key.p384, point: point), .point),
        (Key.curveKey(Key.p256, point: []), .point),
        (Key.rsaKey(Key.modulus(bitCount: 4097), exponent), .modulus),
        (Key.rsaKey([0], exponent), .modulus),
        (Key.rsaKey(Key.modulus(bitCount: 2048), [UInt8](repeating: 0xff, count: 80)), .exponent),
        (Key.rsaKey(Key.modulus(bitCount: 2048), [1] + [UInt8](repeating: 0xff, count: 8)), .exponent),
        (Key.rsaKey(Key.modulus(bitCount: 2048), [4]), .exponent),
        (Key.rsaKey(Key.modulus(bitCount: 2048), [1]), .exponent),
        (Key.rsaKey(Key.modulus(bitCount: 2048), [0]), .exponent),
        // Ed25519.
        (DER.sequence(DER.sequence(DER.identifier([0x2b, 0x65, 0x70])), DER.bitString([UInt8](repeating: 1, count: 32))), .keyAlgorithm),
    ])
    func `any other key is refused`(key: [UInt8], refusal: CertificateForm.Refusal) {
        #expect(throws: refusal) { try CertificateForm.check(Key(key: key).der) }
    }

    @Test func `a certificate of more than the limit is refused, and one of the limit accepted`() throws {
        var certificate = Key(key: Key.curveKey(Key.p256, point: Self.point), paddingByteCount: 1000)
        certificate.paddingByteCount += CertificateForm.maximumByteCount - certificate.der.count
        try CertificateForm.check(certificate.der)
        certificate.paddingByteCount += 1
        #expect(throws: CertificateForm.Refusal.tooLarge(byteCount: 4097)) { try CertificateForm.check(certificate.der) }
    }

    /// BER has several readings where readers differ, so that libcrypto could find another key.
    @Test func `what is not DER is refused, wherever the key is`() throws {
        let store = try TestStore.genuine.get()
        let der = store.leaf.der
        try CertificateForm.check(der)
        for count in 0..<100 {
            #expect(throws: CertificateForm.Refusal.self, "\(count) bytes") { try CertificateForm.check(Array(der[..<count])) }
        }
        #expect(throws: CertificateForm.Refusal.self) { try CertificateForm.check([0x30, 0x80] + der[4...] + [0, 0]) }
        #expect(throws: CertificateForm.Refusal.self) { try CertificateForm.check([0x30, 0x83, 0] + der[2...]) }
        let key = Key.curveKey(Key.p256, point: Self.point)
        #expect(throws: CertificateForm.Refusal.self) { try CertificateForm.check(Key(key: [0x30, 0x81] + key[1...]).der) }
        // Nine unused bits, and a byte after the bit string.
        #expect(throws: CertificateForm.Refusal.self) {
            try CertificateForm.check(Key(key: key.dropLast(66) + [9] + key.suffix(65)).der)
        }
        #expect(throws: CertificateForm.Refusal.self) { try CertificateForm.check(Key(key: [0x30, key[1] + 1] + key[2...] + [0]).der) }
    }

    @Test func `a JWS with keys on curves of their own costs no more than any other forged one`() throws {
        let certificate = Base64.encode(Key(key: Key.ownCurve).der)
        let store = try TestStore.genuine.get()
        let header: JSONObject = ["alg": "ES256", "x5c": .array(Array(repeating: .string(certificate), count: 3))]
        let jws = Array(try store.sign(Payloads.notification(), header: header).utf8)
        let verifier = Verifier(policy: try store.policy())
        try expectQuick { verifier.verifyNotification(jws[...], receivedAt: TestStore.now).rejection?.reason == .certificateKeyUnsupported }
    }

    @Test(arguments: [(1, VerificationReason.certificateKeyUnsupported), (4, .certificateKeyUnsupported), (16, .certificateCount)])
    func `so does a receipt`(count: Int, reason: VerificationReason) throws {
        var envelope = try TestReceipts.envelope()
        envelope.certificates = Array(repeating: Key(key: Key.ownCurve).der, count: count)
        envelope.signerIdentifier = [[0x30, 0x00], Key.serialNumber]
        let receipt = envelope.encoded()
        let verifier = ReceiptVerifier(policy: try TestReceipts.policy())
        try expectQuick { verifier.verify(receipt[...], receivedAt: TestReceipts.now).rejection?.reason == reason }
    }

    /// The time of this thread, so that other work of the machine does not count; the best of five.
    private func expectQuick(_ isRefused: () -> Bool) throws {
        let durations = (0..<5).map { _ in
            let start = Self.processorTime()
            #expect(isRefused())
            return Self.processorTime() - start
        }
        let best = try #require(durations.min())
        #expect(best < 0.005, "\(best) s")
    }

    /// In seconds.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
