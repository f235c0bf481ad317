import AppStore
import AppStoreVerification
import OpenSSL
import Testing

struct AppleRootTests {
    @Test func `the built-in root is the one that Apple publishes`() {
        let root = TrustedRoot.appleRootCAG3
        let fingerprint = root.certificate.sha256Fingerprint.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        #expect(fingerprint == "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
        #expect(root.environments == [.production, .sandbox])
    }

    @Test func `a certificate that is not self-signed is refused as a root`() throws {
        let intermediate = try TestStore.genuine.get().intermediate
        #expect(throws: TrustedRoot.NotSelfSigned.self) { try TrustedRoot(intermediate, environments: nil) }
    }
}
