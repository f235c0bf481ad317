import AppStore
import AppStoreVerification
import OpenSSL
import StoreSimulator
import Testing

struct TestAuthorityTests {
    @Test func `the certificates have the shape of Apple's but not its name`() throws {
        let authority = try TestAuthority.generate(AuthorityOptions(around: .testNow))
        #expect(authority.root.isCA && authority.intermediate.isCA && !authority.leaf.isCA)
        #expect(authority.intermediate.hasExtension(oid: "1.2.840.113635.100.6.2.1"))
        #expect(authority.leaf.hasExtension(oid: "1.2.840.113635.100.6.11.1"))
        #expect(authority.leaf.keyUsage == .digitalSignature)
        #expect(authority.leaf.publicKey?.isP256 == true)
        #expect(authority.root.publicKey?.isP256 == false)
        #expect(!authority.chain.contains { String(decoding: $0.der, as: UTF8.self).contains("Apple Inc.") })
    }

    @Test func `a payload verifies only while the leaf is valid, and a renewed leaf has the same root`() throws {
        let authority = try TestAuthority.generate(AuthorityOptions(around: .testNow))
        let later = Timestamp.testNow.advanced(byDays: 3 * 365)
        #expect(authority.covers(.testNow) && !authority.covers(later))
        var store = SimulatedStore.test(now: later)
        let notification = store.test()
        let verifier = try Genuine.verifier(trusting: authority)
        let late = try NotificationSigner(authority: authority).sign(notification)
        #expect(verifier.verifyNotification(late.jws[...], receivedAt: later).reason == .certificateExpired)
        let renewed = try authority.renewingLeaf(around: later)
        let inTime = try NotificationSigner(authority: renewed).sign(notification)
        #expect(verifier.verifyNotification(inTime.jws[...], receivedAt: later).accepted != nil)
    }
}
