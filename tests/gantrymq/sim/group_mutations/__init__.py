"""What breaks one rule of a group each: functions that replace a part of the product."""
