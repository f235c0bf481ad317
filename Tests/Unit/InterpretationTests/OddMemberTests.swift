import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// A genuine event with a member of another type than this version reads loses that member, and nothing else.
struct OddMemberTests {
    /// Values of every JSON type, some of which a member may accept.
    private static let values = Result {
        try JSONParser().parse(Array(#"[true,"x","1",1,1.5,-1,99999999999999,[],["x"],{},{"a":[1]},"a\u0000b"]"#.utf8))
    }

    /// The values that a payload type cannot read in this member.
    static func oddValues<Payload: PayloadObject>(_ type: Payload.Type, _ member: String) throws -> [JSONValue] {
        guard case .array(let values) = try values.get() else { return [] }
        return values.filter { !Payload(decoding: JSONObject([(member, $0)])).odd.isEmpty }
    }

    private static let kind = NotificationKind(.didFailToRenew, .gracePeriod)

    private static func read(
        _ source: EventSource = .notificationV2,
        outer: SignedScene.Change = { _ in },
        data: SignedScene.Change = { _ in },
        transaction: @escaping SignedScene.Change = { _ in },
        renewalInfo: @escaping SignedScene.Change = { _ in },
        app: SimulatedApp = SignedScene.app,
        policy change: (inout VerificationPolicy) -> Void = { _ in }
    ) throws -> EventReading {
        let jws = try SignedScene.sign(
            SignedScene.trigger(kind, app: app).notification(),
            outer: outer,
            data: data,
            transaction: transaction,
            renewalInfo: renewalInfo
        )
        return try read(
            JSONSerializer.serialize(["signedPayload": .string(String(decoding: jws, as: UTF8.self))] as JSONObject),
            source,
            change
        )
    }

    private static func read(
        _ body: [UInt8],
        _ source: EventSource,
        _ change: (inout VerificationPolicy) -> Void = { _ in }
    ) throws -> EventReading {
        var policy = try SignedScene.verifier().policy
        change(&policy)
        let reader = EventReader(verifier: Verifier(policy: policy), receipts: try SignedScene.receiptVerifier())
        return reader.read(InboxEvent(id: 7, source: source, body: body, receivedAt: SignedScene.now, readAt: SignedScene.now))
    }

    private static func refusal(_ reading: EventReading) -> EventRefusal? {
        if case .failure(let refusal) = reading.result { refusal } else { nil }
    }

    /// Members without which a charge would be another one.
    private static let decisive: Set<JWSTransactionDecodedPayload.Member> = [
        .transactionId, .originalTransactionId, .webOrderLineItemId, .bundleId, .productId, .purchaseDate, .revocationDate,
        .revocationPercentage, .inAppOwnershipType, .signedDate, .environment,
    ]

    @Test(arguments: JWSTransactionDecodedPayload.Member.allCases)
    func `an odd member of a transaction`(member: JWSTransactionDecodedPayload.Member) throws {
        let (control, place) = (try Self.read().result.get(), "transaction.\(member.rawValue)")
        let odd = try Self.oddValues(JWSTransactionDecodedPayload.self, member.rawValue)
        #expect(!odd.isEmpty)
        for value in odd {
            let reading = try Self.read(transaction: { $0[member.rawValue] = value })
            let facts = try reading.result.get()
            #expect(reading.labels.oddMembers.contains(place), "\(value)")
            #expect(
                facts.subscription?.renewalInfo == control.subscription?.renewalInfo && facts.subscription?.status == .billingGracePeriod
            )
            #expect(facts.effects.contains { $0.key.kind == .gracePeriodStarted && $0.originalTransactionID != nil })
            let isNeeded = Self.decisive.contains(member) || member == .expiresDate
            #expect(facts.unhandledReason == (isNeeded ? "unreadable_member:\(place)" : nil), "\(value)")
            #expect((facts.transaction == nil) == Self.decisive.contains(member), "\(value)")
            if let charge = facts.transaction {
                #expect(charge.key == control.transaction?.key && charge.productID == control.transaction?.productID)
                #expect(charge.payload.price == (member == .price ? nil : control.transaction?.payload.price))
            }
        }
    }

    @Test(arguments: JWSRenewalInfoDecodedPayload.Member.allCases)
    func `an odd member of a renewal info`(member: JWSRenewalInfoDecodedPayload.Member) throws {
        let (control, place) = (try Self.read().result.get(), "renewalInfo.\(member.rawValue)")
        let isNeeded = [.originalTransactionId, .environment, .signedDate].contains(member)
        for value in try Self.oddValues(JWSRenewalInfoDecodedPayload.self, member.rawValue) {
            let reading = try Self.read(renewalInfo: { $0[member.rawValue] = value })
            let facts = try reading.result.get()
            #expect(reading.labels.oddMembers.contains { $0.replacing("[]", with: "") == place }, "\(value)")
            #expect(facts.transaction?.version == control.transaction?.version && facts.effects.contains { $0.key.kind == .granted })
            #expect(facts.unhandledReason == (isNeeded ? "unreadable_member:\(place)" : nil), "\(value)")
            #expect((facts.subscription?.renewalInfo == nil) == isNeeded, "\(value)")
            #expect(facts.subscription?.status == .billingGracePeriod)
        }
    }

    @Test(arguments: NotificationData.Member.allCases)
    func `an odd member of a notification's data`(member: NotificationData.Member) throws {
        let place = "data.\(member.rawValue)"
        for value in try Self.oddValues(NotificationData.self, member.rawValue) {
            let reading = try Self.read(data: { $0[member.rawValue] = value })
            #expect(reading.labels.oddMembers.contains(place) && reading.labels.notificationType == "DID_FAIL_TO_RENEW")
            if [.environment, .bundleId, .appAppleId].contains(member) {
                #expect(Self.refusal(reading)?.kind == .unhandled && Self.refusal(reading)?.reason == "unreadable_member:\(place)")
                continue
            }
            let facts = try reading.result.get()
            let isNeeded = [.signedTransactionInfo, .signedRenewalInfo, .status].contains(member)
            #expect(facts.unhandledReason == (isNeeded ? "unreadable_member:\(place)" : nil), "\(value)")
            #expect((facts.transaction == nil) == (member == .signedTransactionInfo))
            #expect((facts.subscription?.renewalInfo == nil) == (member == .signedRenewalInfo))
            #expect(facts.effects.contains { $0.key.kind == .gracePeriodStarted })
        }
    }

    @Test(arguments: ResponseBodyV2DecodedPayload.Member.allCases)
    func `an odd member of a notification`(member: ResponseBodyV2DecodedPayload.Member) throws {
        for value in try Self.oddValues(ResponseBodyV2DecodedPayload.self, member.rawValue) {
            let reading = try Self.read(outer: { $0[member.rawValue] = value })
            #expect(reading.labels.oddMembers.contains { $0.hasPrefix(member.rawValue) }, "\(value)")
            if [.signedDate, .data].contains(member) {
                #expect(
                    Self.refusal(reading)?.kind == .unhandled && Self.refusal(reading)?.reason == "unreadable_member:\(member.rawValue)"
                )
                continue
            }
            let facts = try reading.result.get()
            let isNeeded = [.notificationType, .subtype, .notificationUUID, .appData].contains(member)
            #expect(facts.unhandledReason == (isNeeded ? "unreadable_member:\(member.rawValue)" : nil), "\(value)")
            #expect(facts.transaction != nil && facts.subscription?.renewalInfo != nil)
            let isSilent = [.notificationType, .subtype, .notificationUUID].contains(member)
            #expect(facts.effects.contains { $0.key.kind == .gracePeriodStarted } != isSilent)
        }
    }

    @Test func `an unreadable member that decides about app or environment never counts as absent`() throws {
        let old: SignedScene.Change = { $0["environment"] = nil }
        #expect(try Self.read(transaction: old).result.get().transaction != nil)
        // In Sandbox, the number may be absent.
        #expect(try Self.read(data: { $0["appAppleId"] = "x" }, app: SignedScene.sandboxApp).result.get().transaction != nil)
        // Whatever can be read and is wrong is still a reason to reject.
        let foreign = try Self.read(data: {
            $0["bundleId"] = "com.example.other"; $0["appAppleId"] = true
        })
        #expect(Self.refusal(foreign)?.kind == .rejected && Self.refusal(foreign)?.reason == "wrong_bundle")
        let sandbox = try Self.read(transaction: {
            $0["bundleId"] = 1; $0["environment"] = "Sandbox"
        })
        #expect(Self.refusal(sandbox)?.reason == "environment_disagreement")
        // With any app accepted, an app that cannot be read is none.
        let anyApp = try Self.read(data: { $0["bundleId"] = 7 }, policy: { $0.apps = nil })
        #expect(Self.refusal(anyApp)?.reason == "unreadable_member:data.bundleId")
    }

    @Test func `a client's transaction with an unreadable app, environment or date is unhandled`() throws {
        let purchase = try #require(try SignedScene.trigger(NotificationKind(.subscribed, .initialBuy)).notification().state?.transaction)
        for member in ["bundleId", "environment", "signedDate"] {
            var payload = purchase.value.payload(of: SignedScene.app, signedDate: purchase.signedDate)
            payload[member] = ["x"]
            let jws = String(decoding: try SignedScene.signer().sign(payload), as: UTF8.self)
            let post = try ClientSubmission(signedTransaction: jws, user: "u", environment: .production, bundleIDs: nil)
            let reading = try Self.read(post.body, .clientTransaction)
            #expect(Self.refusal(reading) == .unreadable("transaction.\(member)") && reading.labels.transactionID != nil)
            #expect(reading.labels.oddMembers == ["transaction.\(member)"])
        }
    }

    @Test func `genuine bytes that are no payload at all are unhandled, and forged ones rejected`() throws {
        let signer = try SignedScene.signer()
        func body(_ jws: [UInt8]) -> [UInt8] {
            JSONSerializer.serialize(["signedPayload": .string(String(decoding: jws, as: UTF8.self))] as JSONObject)
        }
        for text in ["[]", "7", #"{"notificationType":"TEST","notificationType":"REFUND","signedDate":1}"#] {
            let jws = try signer.sign(payloadBytes: Array(text.utf8))
            let genuine = Self.refusal(try Self.read(body(jws), .notificationV2))
            #expect(genuine?.kind == .unhandled && genuine?.reason == "payload_not_json")
            var forged = jws
            forged[forged.count - 10] = forged[forged.count - 10] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(Self.refusal(try Self.read(body(forged), .notificationV2))?.kind == .rejected)
        }
        let unknown = Self.refusal(
            try Self.read(body(signer.sign(["signedDate": .integer(SignedScene.now.millisecondsSince1970)])), .notificationV2)
        )
        #expect(unknown?.kind == .unhandled && unknown?.reason == "wrong_kind")
    }

    @Test func `a nested payload that is not JSON leaves the rest`() throws {
        let jws = String(decoding: try SignedScene.signer().sign(payloadBytes: Array("[]".utf8)), as: UTF8.self)
        let facts = try Self.read(data: { $0["signedRenewalInfo"] = .string(jws) }).result.get()
        #expect(facts.transaction != nil && facts.unhandledReason == "unreadable_member:data.signedRenewalInfo")
        let forged = try Self.read(data: { $0["signedRenewalInfo"] = .string(jws + "A") })
        #expect(Self.refusal(forged)?.kind == .rejected)
    }

    @Test func `a statement that is read in full replaces the same one that was read in part`() throws {
        let full = try Self.read().result.get()
        let whole = try #require(full.transaction)
        // The same payload, read by a version that cannot read the price.
        let below = Version(signedDate: whole.version.signedDate, hash: Version.hashBelow(whole.version.hash))
        #expect(below < whole.version)
        #expect(Version.hashBelow([1, 0, 0]) == [0, 0xFF, 0xFF] && Version.hashBelow([0, 7]) == [0, 6])
    }

    @Test func `at most 20 members are named, each once, without numbers and values`() throws {
        let app = try Self.read(
            transaction: {
                for member in JWSTransactionDecodedPayload.Member.allCases where member != .signedDate { $0[member.rawValue] = [] }
            },
            renewalInfo: { $0["eligibleWinBackOfferIds"] = [1, "a", 2] }
        )
        #expect(app.labels.oddMembers.count <= 20 && app.labels.oddMembers.contains("renewalInfo.eligibleWinBackOfferIds[]"))
        #expect(Set(app.labels.oddMembers).count == app.labels.oddMembers.count)
    }
}
