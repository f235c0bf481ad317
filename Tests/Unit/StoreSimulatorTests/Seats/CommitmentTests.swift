import AppStore
import StoreSimulator
import StrictJSON
import Testing

/// Commitments of twelve months that are paid by the month.
struct CommitmentTests {
    private static let plan = SimulatedProduct.subscription("com.example.app.year", every: .years(1), price: 59_990)

    private static func committed() throws -> CustomerLife {
        var life = SimulatedStore.test().customer()
        _ = try life.subscribe(to: plan, terms: PurchaseTerms(commitment: CommitmentTerms(monthlyPrice: 5490)))
        return life
    }

    private func info(_ life: CustomerLife) throws -> JSONObject {
        try #require(life.subscription).renewalInfo.payload(of: .test, signedDate: .testNow)
    }

    @Test func `each month is a transaction with its price and its place in the commitment`() throws {
        var life = try Self.committed()
        let end = life.subscription?.current.commitment?.expiresDate
        for _ in 2...12 { _ = try life.renew() }
        let months = try #require(life.subscription).transactions
        #expect(months.count == 12 && months.allSatisfy { $0.price == 5490 && $0.product == Self.plan })
        for (index, month) in months.enumerated() {
            let json = month.payload(of: .test, signedDate: .testNow)
            let commitment = try #require(json["commitmentInfo"]?.object)
            #expect(json["billingPlanType"]?.string == "MONTHLY")
            #expect(commitment["billingPeriodNumber"]?.integer == Int64(index + 1) && commitment["totalBillingPeriods"]?.integer == 12)
            #expect(commitment["commitmentPrice"]?.integer == 65_880 && month.commitment?.expiresDate == months[11].expiresDate)
            if index > 0 { #expect(month.purchaseDate == months[index - 1].expiresDate) }
        }
        // From 2026-03-31 on, so that some months end on the 30th and one on the 28th.
        #expect(end?.description == "2027-03-31T08:00:00.000Z")
        let next = try life.renew().transaction
        #expect(next?.commitment?.number == 1 && next?.purchaseDate == end)
    }

    @Test(arguments: [false, true]) func `a commitment that is cancelled in month 3 is charged to month 12`(isTold: Bool) throws {
        var life = try Self.committed()
        for _ in 2...3 { _ = try life.renew() }
        if isTold {
            #expect(try life.turnAutoRenewOff().subtype == .autoRenewDisabled)
        } else {
            try life.cancelCommitment()
        }
        for number in 4...12 {
            #expect(try info(life)["autoRenewStatus"]?.integer == 1 && info(life)["renewalPrice"]?.integer == 5490)
            let commitment = try #require(try info(life)["commitmentInfo"]?.object)
            #expect(commitment["commitmentAutoRenewStatus"]?.integer == 0)
            #expect(commitment["commitmentRenewalBillingPlanType"]?.string == "MONTHLY")
            #expect(commitment["commitmentAutoRenewProductId"]?.string == Self.plan.id)
            #expect(throws: SimulationError.self) { try life.expire(.voluntary) }
            #expect(try life.renew().transaction?.commitment?.number == Int32(number))
        }
        #expect(throws: SimulationError.self) { try life.renew() }
        #expect(try life.expire(.voluntary).status == .expired)
        #expect(try info(life)["autoRenewStatus"]?.integer == 0)
    }

    @Test func `a cancellation may be taken back, and another plan begins after the last month`() throws {
        var life = try Self.committed()
        _ = try life.turnAutoRenewOff()
        _ = try life.turnAutoRenewOn()
        let other = SimulatedProduct.subscription("com.example.app.basic", every: .months(1), price: 990, level: 2)
        _ = try life.changePlan(to: other)
        #expect(try info(life)["autoRenewProductId"]?.string == Self.plan.id)
        #expect(try info(life)["commitmentInfo"]?.object?["commitmentAutoRenewProductId"]?.string == other.id)
        for _ in 2...12 { #expect(try life.renew().transaction?.product == Self.plan) }
        let next = try life.renew().transaction
        #expect(next?.product == other && next?.commitment == nil && next?.price == 990)
        #expect(try info(life)["commitmentInfo"] == nil)
    }
}
