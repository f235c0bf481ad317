import AppStore
import FoundationEssentials
import Ledger
import Testing

struct OrderNumberTests {
    @Test func `a number is a version 8 UUID and never changes`() {
        let number = OrderNumber.ofPeriod(environment: .production, originalTransactionID: "1000", webOrderLineItemID: "2000")
        // Computed separately, but for the digit of the version: python3 -c "import uuid; print(uuid.uuid5(uuid.UUID('6f2b0f0e-531d-4c8a-9d5e-1c6e0a7741c3'), 'period\0Production\x001000\x002000'))"
        #expect(number == UUID(uuidString: "317fbd77-7771-8c18-a332-5c9667f421ef"))
        #expect(
            OrderNumber.ofCharge(environment: .sandbox, transactionID: "1000") == UUID(uuidString: "a6f4b657-5e26-800f-99f0-029ff925c8e5")
        )
    }

    @Test(arguments: 1...8) func `a token of each version but 8 names an order`(version: Int) {
        let token = UUID(uuidString: "317fbd77-7771-\(version)c18-a332-5c9667f421ef")
        #expect(OrderNumber.named(by: token) == (version == 8 ? nil : token))
    }

    @Test func `environments, contracts, periods and charges have distinct numbers`() {
        let numbers = [
            OrderNumber.ofPeriod(environment: .production, originalTransactionID: "1", webOrderLineItemID: "2"),
            OrderNumber.ofPeriod(environment: .sandbox, originalTransactionID: "1", webOrderLineItemID: "2"),
            OrderNumber.ofPeriod(environment: .production, originalTransactionID: "2", webOrderLineItemID: "1"),
            OrderNumber.ofPeriod(environment: .production, originalTransactionID: "12", webOrderLineItemID: ""),
            OrderNumber.ofCharge(environment: .production, transactionID: "1"),
            OrderNumber.ofCharge(environment: .sandbox, transactionID: "1"),
        ]
        #expect(Set(numbers).count == numbers.count)
    }
}
