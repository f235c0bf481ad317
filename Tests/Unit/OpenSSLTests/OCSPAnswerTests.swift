import AppStore
import Randomness
import StoreSimulator
import Testing

@testable import OpenSSL

/// What an OCSP answer proves, and that anything else proves nothing.
struct OCSPAnswerTests {
    private static let now: Int64 = 1_750_000_000
    private static let instant = Timestamp(millisecondsSince1970: now * 1000)
    private static let genuine = Result { try TestAuthority.generate(AuthorityOptions(around: instant)) }
    private static let validity = OCSPValidity(thisUpdate: now - 3600, nextUpdate: now + 3600)

    private let authority: TestAuthority

    init() throws {
        authority = try Self.genuine.get()
    }

    private func answer(
        _ status: OCSPAnswerBuilder.Status = .good,
        about certificate: Certificate? = nil,
        thisUpdate: Int64 = validity.thisUpdate,
        nextUpdate: Int64? = validity.nextUpdate,
        by signer: TestAuthority.OCSPSigner = .issuer
    ) throws -> [UInt8] {
        try authority.ocspAnswer(
            about: certificate ?? authority.leaf,
            status,
            thisUpdate: thisUpdate,
            nextUpdate: nextUpdate,
            by: signer
        )
    }

    /// What an answer proves about the leaf.
    private func check(_ der: [UInt8]) -> OCSPVerdict {
        OCSPAnswer.check(der, for: authority.leaf, issuedBy: authority.intermediate, at: Self.now)
    }

    @Test(arguments: [TestAuthority.OCSPSigner.issuer, .delegate])
    func `the issuer and a responder that it authorized say good`(signer: TestAuthority.OCSPSigner) throws {
        #expect(try check(answer(by: signer)) == .good(Self.validity))
        let root = try answer(about: authority.intermediate, by: signer)
        let verdict = OCSPAnswer.check(root, for: authority.intermediate, issuedBy: authority.root, at: Self.now)
        #expect(verdict == .good(Self.validity))
    }

    @Test(arguments: OCSPRevocation.Reason.allCases)
    func `a revocation has its time and its reason`(reason: OCSPRevocation.Reason) throws {
        let revoked = OCSPAnswerBuilder.Status.revoked(at: Self.now - 86_400, reason)
        for signer in [TestAuthority.OCSPSigner.issuer, .delegate] {
            let verdict = try check(answer(revoked, by: signer))
            #expect(verdict == .revoked(OCSPRevocation(time: Self.now - 86_400, reason: reason), Self.validity))
        }
    }

    @Test func `a revocation without a reason is unspecified`() throws {
        let verdict = try check(answer(.revoked(at: Self.now, nil)))
        #expect(verdict == .revoked(OCSPRevocation(time: Self.now, reason: .unspecified), Self.validity))
    }

    @Test func `a responder may not know a certificate`() throws {
        #expect(try check(answer(.unknown)) == .unknown)
    }

    @Test func `an answer of another signer proves nothing`() throws {
        let revoked = OCSPAnswerBuilder.Status.revoked(at: Self.now, .keyCompromise)
        for signer in [TestAuthority.OCSPSigner.delegateWithoutPurpose, .stranger] {
            #expect(try check(answer(revoked, by: signer)) == .unusable(.responderNotAuthorized), "\(signer)")
        }
        let namesake = try TestAuthority.generate(AuthorityOptions(around: Self.instant))
        for signer in TestAuthority.OCSPSigner.allCases {
            let answer = try namesake.ocspAnswer(
                about: authority.leaf,
                revoked,
                thisUpdate: Self.now,
                nextUpdate: Self.now + 60,
                by: signer
            )
            guard case .unusable = check(answer) else {
                Issue.record("\(signer)")
                continue
            }
        }
    }

    @Test func `an answer about another certificate proves nothing`() throws {
        let renewed = try authority.renewingLeaf(around: Self.instant)
        #expect(try check(answer(about: renewed.leaf)) == .unusable(.otherCertificate))
        // The root signed this one, and it is not the issuer of the leaf.
        #expect(try check(answer(about: authority.intermediate)) == .unusable(.responderNotAuthorized))
    }

    @Test func `an answer counts from five minutes before thisUpdate until nextUpdate`() throws {
        let early = try answer(thisUpdate: Self.now + 300, nextUpdate: Self.now + 600)
        #expect(check(early) == .good(OCSPValidity(thisUpdate: Self.now + 300, nextUpdate: Self.now + 600)))
        #expect(try check(answer(thisUpdate: Self.now + 301, nextUpdate: Self.now + 600)) == .unusable(.notYetValid))
        #expect(try check(answer(nextUpdate: Self.now)) == .good(OCSPValidity(thisUpdate: Self.now - 3600, nextUpdate: Self.now)))
        #expect(try check(answer(nextUpdate: Self.now - 1)) == .unusable(.expired))
        #expect(try check(answer(nextUpdate: nil)) == .unusable(.unlimited))
        #expect(try check(answer(nextUpdate: Self.now - 7200)) == .unusable(.malformed))
    }

    @Test func `a responder that refuses to answer proves nothing`() throws {
        #expect(try check(OCSPAnswerBuilder.refusal()) == .unusable(.refused))
    }

    @Test func `bytes that are no answer prove nothing`() throws {
        let genuine = try answer(.revoked(at: Self.now, .keyCompromise))
        for count in stride(from: 0, to: genuine.count, by: 7) {
            #expect(check(Array(genuine.prefix(count))) == .unusable(.malformed), "\(count) bytes")
        }
        #expect(check(genuine + [0]) == .unusable(.malformed))
        #expect(check(Array("<html>busy</html>".utf8)) == .unusable(.malformed))
    }

    @Test func `an altered byte never makes an answer say something else`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for signer in [TestAuthority.OCSPSigner.issuer, .delegate] {
            let genuine = try answer(by: signer)
            let verdict = check(genuine)
            for index in genuine.indices {
                var altered = genuine
                altered[index] ^= UInt8(1) << UInt8.random(in: 0...7, using: &generator)
                let found = check(altered)
                if case .unusable = found { continue }
                // The certificate of the issuer that comes with the answer is not signed, and is not used.
                #expect(found == verdict, "seed \(seed), byte \(index)")
            }
        }
    }

    @Test func `a request names the certificate, and a certificate its responders`() throws {
        let request = try OCSPRequest(for: authority.leaf, issuedBy: authority.intermediate)
        let other = try OCSPRequest(for: authority.intermediate, issuedBy: authority.root)
        #expect(request.der.count < 255 && request != other)
        #expect(authority.leaf.ocspAddresses == ["http://simulated.invalid/ocsp03-testg602"])
        #expect(authority.root.ocspAddresses == [])
    }
}
